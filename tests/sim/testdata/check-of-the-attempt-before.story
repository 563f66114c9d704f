# at 14m3.66s: 4.3: shop/app6 is evicted Gracefully from m1, and its attempt goes by Never
seed 1795450770956395368 mode enforce fleet 7 rate 0.2 quiet 17m25.01s
time healthy 8m0s
time schedule 1s
time takes 1s
odds answer-lost 97
odds write-unreachable 137
binding app1 on m1,m2 may m1,m2/m7,m4,m3 divided replicas 4 tolerate -1 priority 0
binding app3 on m1 may m1,m2 duplicated replicas 3 tolerate -1 priority 0
binding app4 on m7,m1 may m1,m4,m5,m7 duplicated replicas 0 tolerate -1 priority 0
binding app5 on m1,m6 may m1,m6/m1 duplicated replicas 4 tolerate 0 priority 0
binding app6 on m1,m2 may m1,m2/m7 divided replicas 2 tolerate -1 priority 0
binding app10 on m3,m1 may any duplicated replicas 2 tolerate -1 priority 2
binding app11 on m1 may m1,m2 duplicated replicas 4 tolerate -1 priority 2
binding app13 on m1,m7 may m1,m7 duplicated replicas 4 tolerate -1 priority 0
binding app14 on m1 may any duplicated replicas 2 tolerate -1 priority 1
binding app17 on m1 may m1,m2 duplicated replicas 0 tolerate -1 priority 0
binding app18 on m1 may any duplicated replicas 4 tolerate -1 priority 0
at 0s put-policy
at 21.91s down cluster m1
at 3m45.57s up cluster m1
at 8m7.03s sever cluster m1
at 9m58.31s mend cluster m1
at 10m55.23s edit-policy binding app6 n 9
at 12m1.66s drain cluster m1
