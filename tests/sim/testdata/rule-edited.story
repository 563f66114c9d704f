# A rule is edited in mid-failover: windows that run are measured by what it says now (the one of m1 ends
# at once, the one of m2 takes longer), a cluster that it aims at no more is untainted, down as it is, and
# one that it aims at again waits for the whole window.
seed 1 mode enforce fleet 5 rate 0.5 quiet 16m
time schedule 1s
time healthy 3s
binding app1 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app2 on m2 may any duplicated replicas 2 tolerate -1 priority 0
at 5s down cluster m1
at 35s edit-rule n 1
at 2m up cluster m1
at 2m5s edit-rule n 4
at 5m edit-rule
at 5m10s down cluster m2
at 6m edit-rule n 2
at 9m aim-away cluster m2
at 10m aim-at cluster m2
at 14m up cluster m2
