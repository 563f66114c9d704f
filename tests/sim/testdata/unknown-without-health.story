# The copy of a kind without health was Unhealthy, and then Unknown: that proves it, for it is applied.
seed 304380 mode enforce fleet 3 rate 0.2 quiet 14m17.54s
time healthy 1s
time schedule 5s
time takes 100ms
binding app1 on m1 may m1,m3 divided replicas 1 tolerate -1 priority 0 asks application 30 policy api
binding app2 on m1,m3 may m1,m3 divided replicas 5 tolerate -1 priority 3 asks application 0
binding app3 on m1,m3 may any divided replicas 2 tolerate -1 priority 0 application 60 policy api
binding app5 on m2,m1 may any duplicated replicas 0 tolerate -1 priority 0 asks
binding app6 on m1,m3 may m1,m3 duplicated replicas 3 tolerate -2 priority 1 asks application 0 policy web
binding app13 on m1,m3 may m1,m3 duplicated replicas 5 tolerate -2 priority 0 asks application 30 application-purge Gracefully
at 13.07s down cluster m1
at 1m11.77s drain cluster m1
at 1m55.21s ail cluster m2 binding app5
at 2m53.12s unknown cluster m2 binding app5
