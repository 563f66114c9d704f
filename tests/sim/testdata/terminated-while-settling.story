# A move was terminated, and looked for while the failover settled: its hold is adopted before that closes.
seed 74000362 mode enforce fleet 3 rate 1 quiet 14m5.12s
time healthy 4m0s
time schedule 50ms
binding app1 on m1 may m1/m1,m3,m2 duplicated replicas 3 tolerate 300 priority 0
at 2.16s taint cluster m1
at 1m5.05s untaint cluster m1
at 1m22.4s down cluster m1
at 2m55.23s up cluster m1
at 3m52.37s down cluster m2
at 6m42.46s terminate-move cluster m1 binding app1
