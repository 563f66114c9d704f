# at 1m26.045471319s: 1: the hold of shop/app4 for m1 is dropped, and it is not placed: the scheduler has not seen it
# at 1m26.045471319s: 1: the hold of shop/app4 for m1 is dropped, and it is not healthy: the copy on m2 is not healthy
# at 1m26.045471319s: 1: the hold of shop/app4 for m1 is dropped after 1.141941924s, before 10s of health
seed 79000118402415 mode enforce fleet 7 rate 0.5 quiet 7m14.14s
time healthy 3s
time schedule 1s
time takes 100ms
odds signal-late 203
odds slow-read 96
binding app1 on m1,m4 may any divided replicas 3 tolerate -1 priority 1
binding app2 on m1,m4 may m1,m4 duplicated replicas 3 tolerate -1 priority 0
binding app3 on m1,m2 may any duplicated replicas 1 tolerate -1 priority 0
binding app4 on m1 may m1/m7,m2,m4 duplicated replicas 3 tolerate -1 priority 0
binding app5 on m1 may any duplicated replicas 0 tolerate -1 priority 0
binding app6 on m1,m6 may m1,m4,m6,m7 divided replicas 2 tolerate -1 priority 0 purge Directly
binding app8 on m1,m3 may any divided replicas 4 tolerate -1 priority 0
binding app10 on m1 may m1/m7,m1 duplicated replicas 3 tolerate -1 priority 2
at 16.43s down cluster m1
at 1m24.78s release cluster m1 binding app4 n 9
