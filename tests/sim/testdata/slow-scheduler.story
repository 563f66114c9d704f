# The scheduler has not answered the eviction when the cluster is well again: the
# untaint waits for the restore as long as it may.
seed 1 mode enforce fleet 4 rate 0.5 quiet 20m0s
time schedule 50s
time healthy 3s
binding app1 on m1 may m1,m2 duplicated replicas 2 tolerate -1 priority 0
at 10s down cluster m1
at 1m13s up cluster m1
