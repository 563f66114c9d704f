# A move is terminated while its attempt is open, adopted, and reports in the next attempt.
seed 3000006 mode enforce fleet 7 rate 3 quiet 16m52.44s
time healthy 4m0s
time schedule 1s
time takes 1s
odds slow-worker 57
odds worker-dies 148
binding app3 on m1,m3 may any duplicated replicas 2 tolerate 60 priority 0
at 28.31s down cluster m1
at 48.66s soft cluster m3
at 3m7.98s down cluster m4
at 3m43.45s up cluster m1
at 4m2.19s down cluster m2
at 4m18.89s terminate-move cluster m1 binding app3
at 5m48.28s taint cluster m1
