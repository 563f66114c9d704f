# The hold for a deleted cluster is dropped while a late patch of the scheduler still names the cluster: nothing is lost.
seed 61003443 mode enforce fleet 5 rate 0.5 quiet 8m51.76s
time healthy 1s
time schedule 50ms
time takes 6s
odds signal-lost 400
odds worker-dies 182
binding app1 on m1 may any duplicated replicas 1 tolerate -1 priority 0
binding app6 on m1,m2 may m1,m2 duplicated replicas 3 tolerate -1 priority 0
binding app12 on m1 may any duplicated replicas 5 tolerate 30 priority 0
at 27.88s down cluster m1
at 43.58s soft cluster m4
at 3m40.6s down cluster m5
at 3m53.56s up cluster m5
at 4m5.41s down cluster m2
at 4m6.3s down cluster m5
at 4m10.58s remove cluster m1
at 5m40.07s join cluster m1
at 6m50.52s up cluster m5
at 7m33.32s remove cluster m2
