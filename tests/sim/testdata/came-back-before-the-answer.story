# at 14m15.039958201s: 3: m1 shop/app14 uid-shop/app14 was released at 2m2.506952343s, put back by the scheduler, and evicted again at 3m3.507952343s in the same attempt
seed 309406 mode enforce fleet 8 rate 0.5 quiet 14m14.99s
time healthy 20s
time schedule 5s
odds worker-dies 157
binding app14 on m1,m7 may m1,m7 duplicated replicas 0 tolerate -2 priority 0 soft 0
at 27.47s soft cluster m1
