# The scheduler undoes a put-back: what is placed again goes on, and is not put back for ever.
seed 80050 mode enforce fleet 3 rate 0.5 quiet 13m35.56s
time healthy 4m0s
time schedule 40s
time takes 100ms
binding app3 on m2 may m1,m2,m3 duplicated replicas 5 tolerate -1 priority 0 purge Never
binding app5 on m1 may any duplicated replicas 0 tolerate -1 priority 0
binding app6 on m3,m1 may m1,m2,m3 divided replicas 2 tolerate -1 priority 0 soft 120
binding app7 on m1 may m1,m2 duplicated replicas 1 tolerate -1 priority 0
binding app8 on m1,m3 may m1,m2,m3 divided replicas 2 tolerate -1 priority 0
at 11.18s down cluster m1
at 6m14.23s up cluster m1
at 9m38.89s down cluster m2
at 11m39.14s up cluster m2
at 12m49.27s put-back cluster m2 binding app3 n 11
