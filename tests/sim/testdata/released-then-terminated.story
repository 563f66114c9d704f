seed 306379 mode enforce fleet 8 rate 3 quiet 8m18.9s
time healthy 1s
time schedule 50ms
time takes 100ms
odds worker-dies 117
binding app1 on m1,m8 may any duplicated replicas 2 tolerate -1 priority 0 soft 120
binding app8 on m1,m3 may m1,m3,m7 duplicated replicas 4 tolerate -1 priority 0
binding app10 on m1 may any duplicated replicas 4 tolerate -1 priority 0
at 14.69s down cluster m1
at 2m2.25s terminate-move cluster m1 binding app10
