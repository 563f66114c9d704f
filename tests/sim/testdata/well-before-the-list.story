seed 91000180 mode enforce fleet 13 rate 0.2 quiet 11m54.66s
time distribute 20s
time healthy 1s
time schedule 1s
time takes 6s
odds answer-lost 196
odds worker-dies 197
odds write-unreachable 173
binding app1 on m1 may any duplicated replicas 4 tolerate 30 priority 0 asks
binding app3 on m1 may m1,m3,m6 divided replicas 1 tolerate -1 priority 0 needs cfg2
binding app4 on m7 may any divided replicas 1 tolerate -1 priority 3 asks
binding app5 on m1 may m1,m3,m5 duplicated replicas 4 tolerate -1 priority 0 soft 30 asks needs cfg1
at 18.34s down cluster m1
at 53.44s down cluster m3
at 58.34s down cluster m4
at 1m1.15s down cluster m9
at 1m4.71s down cluster m11
at 1m5.24s down cluster m7
at 1m6.55s down cluster m8
at 1m9.03s down cluster m12
at 1m15.38s down cluster m6
at 1m16.71s down cluster m5
at 5m8.74s taint cluster m2
at 5m53.56s up cluster m1
