# at 6m0s: 7: shop/app11 uid-shop/app11 stood on the failed m1 for long and has no outcome
seed 72001701 mode enforce fleet 5 rate 0.5 quiet 11m30.63s
time healthy 1s
time schedule 40s
time takes 1s
binding app11 on m1,m5 may any divided replicas 2 tolerate -1 priority 0
at 14.47s down cluster m1
at 1m34.94s garble cluster m1
at 2m2.73s terminate cluster m1
