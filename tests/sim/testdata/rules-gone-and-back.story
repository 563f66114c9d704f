# There is no rule for longer than the window, and the untaint is long on its way: the match that comes and goes meanwhile is none of its own.
seed 304278 mode enforce fleet 4 rate 0.5 quiet 7m31.71s
time healthy 4m0s
time schedule 1s
odds answer-lost 59
odds cut 238
binding app1 on m1 may m1,m2,m3 duplicated replicas 3 tolerate -1 priority 0
binding app4 on m1 may any divided replicas 5 tolerate 60 priority 1
binding app6 on m2,m1 may any duplicated replicas 5 tolerate -1 priority 0
binding app7 on m1,m4 may m1,m2,m3,m4 duplicated replicas 4 tolerate -1 priority 0
binding app8 on m1 may m1 duplicated replicas 5 tolerate -1 priority 0
at 17.84s down cluster m1
at 56.2s garble cluster m1
at 1m10.9s terminate cluster m1
at 1m26.79s ungarble cluster m1
at 2m38.92s rate n 100
at 5m11.29s drop-rules
at 6m20.75s put-rules
at 6m35.84s up cluster m1
