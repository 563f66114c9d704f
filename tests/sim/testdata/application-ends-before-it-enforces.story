# the failover of app1 has ended before the order to enforce it was obeyed, and its run never closed
seed 870 mode observe fleet 5 rate 40 quiet 5m45.4s
time healthy 3s
time schedule 50ms
odds answer-lost 70
binding app1 on m1 may m1,m2,m5 divided replicas 5 tolerate -1 priority 1 soft 120 application 60 policy web
at 1m59.07s revise cluster m1 binding app1
at 2m35.14s revise binding app1
at 3m1.61s app-enforce binding app1 n 1
