# Another evictor has put its task for m1 on bindings that m1's failover is to move: app1 stands there
# still, is blocked for as long as the task stands, and moves after it; app2 was taken off by the other
# and is none of ours. Ours that stands already is left alone by it, and its own is never touched.
seed 1 mode enforce fleet 4 rate 0.5 quiet 10m
time schedule 90s
time healthy 3s
binding app1 on m1,m3 may any duplicated replicas 4 tolerate -1 priority 0
binding app2 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app3 on m1 may any duplicated replicas 2 tolerate -1 priority 0
at 5s down cluster m1
at 1m2s hold-theirs cluster m1 binding app1
at 1m2s hold-theirs cluster m1 binding app2 n 1
at 1m20s hold-theirs cluster m1 binding app3 n 1
at 1m30s drop-theirs cluster m1 binding app1
at 9m up cluster m1
