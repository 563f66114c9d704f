# at 8m12.641695505s: 7: shop/app20 uid-shop/app20-207 stood on the failed m1 for long and has no outcome
seed 600014 mode enforce fleet 4 rate 0.5 quiet 13m35.94s
time healthy 3s
time schedule 1s
time takes 6s
odds signal-late 130
odds slow-worker 64
odds unreachable 40
ask directly 1
binding app2 on m1,m3 may any divided replicas 5 tolerate -1 priority 0
binding app3 on m1 may any duplicated replicas 5 tolerate -1 priority 0 purge Directly asks
binding app4 on m4 may m4/m2,m4,m3 divided replicas 2 tolerate -1 priority 0 purge Directly asks
binding app5 on m1 may m1/m3,m4,m2 duplicated replicas 1 tolerate -1 priority 0 purge Directly
binding app6 on m1,m2 may m1,m2,m3 divided replicas 4 tolerate -1 priority 0 purge Directly
binding app10 on m1 may any duplicated replicas 5 tolerate -1 priority 2 soft 120
binding app11 on m3 may m3,m4 divided replicas 3 tolerate -1 priority 0 asks
binding app12 on m1 may m1,m2,m3 divided replicas 2 tolerate -1 priority 0 soft 120
binding app13 on m1 may m1 duplicated replicas 4 tolerate -1 priority 0 purge Directly asks
binding app14 on m4,m1 may m4,m1 duplicated replicas 5 tolerate -1 priority 0 purge Directly asks
binding app15 on m1,m4 may m1,m3,m4 divided replicas 5 tolerate -1 priority 0 purge Directly
binding app16 on m3 may any duplicated replicas 2 tolerate -1 priority 0 purge Directly
binding app17 on m4 may any duplicated replicas 3 tolerate -1 priority 0 asks
binding app18 on m1 may any duplicated replicas 0 tolerate -1 priority 0 purge Directly asks
binding app19 on m1 may m1,m3,m4 duplicated replicas 1 tolerate -1 priority 0 purge Directly
binding app20 on m1,m2 may any duplicated replicas 1 tolerate -1 priority 0 purge Directly
binding app21 on m1 may any duplicated replicas 4 tolerate -1 priority 1 purge Directly
binding app22 on m1,m4 may m1,m3,m4 divided replicas 2 tolerate -1 priority 0 asks
binding app23 on m2 may any divided replicas 3 tolerate 300 priority 1 purge Directly
binding app24 on m4 may any duplicated replicas 1 tolerate 30 priority 2
binding app25 on m1,m2 may m1,m2,m3 divided replicas 4 tolerate -1 priority 1 asks
binding app26 on m4 may any divided replicas 3 tolerate -1 priority 0 purge Directly
binding app27 on m2,m3 may any duplicated replicas 0 tolerate -1 priority 2 purge Directly asks
binding app28 on m4,m2 may m2,m4 divided replicas 5 tolerate -1 priority 0 soft 0 asks
binding app29 on m1 may any divided replicas 1 tolerate -1 priority 0 purge Directly asks
binding app30 on m2,m1 may m1,m2,m4 duplicated replicas 3 tolerate -1 priority 0 purge Gracefully soft 120
at 20.24s down cluster m1
at 26.23s blind
at 2m1.81s see
at 5m8.59s down cluster m4
at 6m8.94s delete binding app20 n 5
at 7m8.73s create binding app20 n 5
at 8m9.31s remove cluster m1
