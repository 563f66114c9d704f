# at 12m58.642065918s: 6: m3 is untainted 32.032065918s after it was well, and shop/app11 is not restored yet
seed 73000235 mode enforce fleet 15 rate 0.2 quiet 14m5.12s
time healthy 4m0s
time schedule 5s
time takes 6s
odds answer-lost 33
odds signal-lost 370
binding app7 on m1 may m1/m2,m1,m3 duplicated replicas 2 tolerate -1 priority 0
binding app11 on m1 may m1/m3 duplicated replicas 4 tolerate -1 priority 0
at 1m24.5s up cluster m1
at 2m15.17s down cluster m1
at 6m24.48s down cluster m6
at 6m24.57s down cluster m3
at 6m28.56s down cluster m7
at 6m30.72s down cluster m12
at 6m32.49s down cluster m13
at 6m33.76s down cluster m8
at 6m36.79s down cluster m5
at 6m38.74s down cluster m9
at 6m41.9s down cluster m11
at 6m44.98s down cluster m10
at 6m45.17s down cluster m15
at 6m47.14s down cluster m4
at 7m7.59s up cluster m1
at 12m26.61s up cluster m3
at 12m47.11s up cluster m6
