# What a binding's author edits after the attempt has begun changes nothing in it: app2 comes to tolerate
# everything and leaves all the same, app3 tolerates nothing any more and stays for as long as it said,
# app4 and app5 go as they were to go, though all are listed once more
# when app6 comes. The next attempt goes by the edits.
seed 1 mode enforce fleet 4 rate 0.2 quiet 12m
time schedule 1s
time healthy 3s
binding app1 on m1 may any duplicated replicas 2 tolerate -1 priority 5
binding app2 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app3 on m1 may any duplicated replicas 2 tolerate 60 priority 0
binding app4 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app5 on m1 may any duplicated replicas 2 tolerate -1 priority 0 purge Never
binding app6 on m1 may any duplicated replicas 2 tolerate -1 priority 0
at 2s delete binding app6
at 5s down cluster m1
at 1m7s edit-policy binding app2 n 5
at 1m7s edit-policy binding app3
at 1m7s edit-policy binding app4 n 8
at 1m7s edit-policy binding app5 n 7
at 1m9s create binding app6
at 5m up cluster m1
at 6m down cluster m2
at 6m10s edit-policy binding app1 n 3
at 9m up cluster m2
