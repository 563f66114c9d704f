# A put-back was refused, and that wants attention; the restore after it was taken for one that had
# waited for long enough, and the untaint did not wait for it.
seed 61200327 mode enforce fleet 6 rate 0.5 quiet 8m6.26s
time healthy 20s
time schedule 40s
binding app1 on m1 may m1/m6 duplicated replicas 3 tolerate -1 priority 0
binding app3 on m1,m2 may any duplicated replicas 4 tolerate -1 priority 1
binding app10 on m1,m3 may m1,m3 duplicated replicas 1 tolerate -1 priority 0 soft 0
binding app16 on m1,m3 may m1,m3/m2 duplicated replicas 1 tolerate -1 priority 0
binding app18 on m1,m6 may m1,m6/m3,m4 duplicated replicas 5 tolerate -1 priority 0
binding app21 on m1 may m1/m4,m3,m5 duplicated replicas 3 tolerate -1 priority 0
at 15.18s down cluster m1
at 33.09s rate n 100
at 1m32.84s up cluster m1
at 2m8.67s down cluster m1
at 3m0.98s put-back-move cluster m1 binding app21 n 11
at 3m39.61s up cluster m1
