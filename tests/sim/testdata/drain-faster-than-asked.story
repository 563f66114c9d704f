# at 2m46.731s: 4: shop/app4 is drained from m2 7.01s after the one before, at 0.1 a second
seed 72000158 mode enforce fleet 6 rate 0.5 quiet 10m35.04s
time healthy 1s
time schedule 1s
odds answer-lost 79
binding app2 on m2 may any duplicated replicas 5 tolerate -1 priority 0
binding app4 on m1 may m1/m3,m1,m2 duplicated replicas 0 tolerate -1 priority 0
binding app6 on m1 may m1/m2,m4,m5 divided replicas 2 tolerate 30 priority 0
at 1m2.1s down cluster m1
at 2m0.71s drain cluster m2 n 100
