seed 20001399 mode enforce fleet 3 rate 0.5 quiet 9m52.11s
time healthy 3s
time schedule 50ms
binding app14 on m1,m3 may m1,m3 duplicated replicas 1 tolerate -1 priority 2
at 2m31.75s down cluster m2
at 3m42.93s taint cluster m3
at 3m56.03s down cluster m3
at 5m23.46s drop-rules
