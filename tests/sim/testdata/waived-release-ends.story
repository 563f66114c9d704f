# An operator waived a suspected release; the next bad one, after a quiet window, is suspected anew.
seed 903225 mode enforce fleet 4 rate 40 quiet 9m17.65s
time healthy 20s
binding app1 on m1 may any duplicated replicas 2 tolerate -1 priority 0 application 120 policy web
binding app2 on m1,m3 may any duplicated replicas 2 tolerate -1 priority 0 application 10 policy web
binding app3 on m1,m3 may any divided replicas 4 tolerate 30 priority 0 purge Directly application 60 policy web
binding app4 on m1 may any duplicated replicas 4 tolerate -1 priority 0 purge Directly application 20 application-purge Directly policy web
binding app6 on m1,m3 may any divided replicas 2 tolerate -1 priority 0 application 30 policy web
binding app7 on m4 may any duplicated replicas 2 tolerate -1 priority 0 soft 0 application 60 policy web
at 11.62s spoil cluster m1 binding app1
at 17.74s ail cluster m1 binding app3
at 18.86s spoil cluster m4 binding app7
at 35.55s spoil cluster m1 binding app4
at 36.69s spoil cluster m1 binding app6
at 1m16.51s go
at 8m53.82s revise cluster m1 binding app2
