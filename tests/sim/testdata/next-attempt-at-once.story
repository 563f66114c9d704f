seed 305326 mode enforce fleet 8 rate 0.5 quiet 7m58.74s
time healthy 4m0s
time schedule 5s
binding app1 on m1 may any duplicated replicas 5 tolerate -1 priority 0 purge Never
binding app2 on m1,m7 may m1,m7 duplicated replicas 5 tolerate -2 priority 0 soft 120
at 13.09s down cluster m1
at 1m52.12s skip cluster m1 binding app2 n 10
at 3m33.15s up cluster m1
at 5m11.14s drain cluster m1 n 1000
