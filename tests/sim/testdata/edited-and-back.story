# A toleration was edited before the attempt began, and back since: the attempt goes by the edit.
seed 317119 mode enforce fleet 8 rate 1 quiet 20m28.93s
time healthy 3s
time schedule 50ms
time takes 100ms
binding app1 on m1,m8 may m1,m8/m6,m7 duplicated replicas 3 tolerate -1 priority 0
at 4.85s down cluster m1
at 40.64s edit-policy binding app1 n 5
at 10m25.31s edit-policy binding app1
