# at 3m40.395026117s: 1: the hold of shop/app22 for m1 is dropped, and it is not healthy: m2 has a failover of its own
seed 318579 mode enforce fleet 5 rate 0.2 quiet 11m8.48s
time healthy 20s
time schedule 50ms
time takes 6s
odds late-write 178
odds signal-lost 101
odds slow-worker 11
odds slow-write 71
odds unreachable 57
ask namespace 1
binding app1 on m1 may any duplicated replicas 1 tolerate -1 priority 0 asks
binding app2 on m1,m3 may m1,m3/m2 duplicated replicas 1 tolerate -1 priority 2
binding app3 on m1 may any duplicated replicas 2 tolerate -1 priority 0 purge Directly
binding app7 on m1,m5 may any duplicated replicas 3 tolerate -1 priority 0
binding app8 on m1 may m1 duplicated replicas 1 tolerate -1 priority 0 asks
binding app9 on m1,m2 may m1,m2,m3,m4,m5 divided replicas 2 tolerate -1 priority 0 asks
binding app10 on m1 may any divided replicas 3 tolerate -1 priority 0
binding app11 on m1 may any divided replicas 2 tolerate -1 priority 0
binding app12 on m4 may m2,m4 divided replicas 2 tolerate -1 priority 0
binding app13 on m1,m3 may any duplicated replicas 5 tolerate -1 priority 0
binding app14 on m5,m1 may m5,m1/m1,m2 duplicated replicas 5 tolerate -1 priority 0 purge Never asks
binding app15 on m1 may m1,m3,m5 divided replicas 4 tolerate 300 priority 0 purge Never soft 0 asks
binding app16 on m1 may any duplicated replicas 4 tolerate -1 priority 0 asks
binding app17 on m1 may m1,m4,m5 duplicated replicas 1 tolerate -1 priority 0 asks
binding app18 on m1 may m1,m2 duplicated replicas 4 tolerate -1 priority 2 soft 0 asks
binding app19 on m1 may any divided replicas 5 tolerate 30 priority 0 asks
binding app20 on m1 may any duplicated replicas 0 tolerate -1 priority 0 asks
binding app21 on m4,m3 may m4,m3 divided replicas 2 tolerate 300 priority 0 asks
binding app22 on m1,m3 may any duplicated replicas 4 tolerate -1 priority 3 asks
binding app23 on m1 may any duplicated replicas 1 tolerate 0 priority 0 purge Gracefully asks
binding app24 on m1,m3 may m1,m3,m4 duplicated replicas 2 tolerate -1 priority 0
binding app25 on m3,m2 may any divided replicas 5 tolerate -1 priority 0
binding app26 on m2 may m1,m2,m4 divided replicas 4 tolerate -1 priority 2
at 0s put-policy
at 15.26s delete binding app8 n 6
at 23.35s taint cluster m1
at 58.5s delete binding app20 n 1
at 1m38.08s approve cluster m1 n 3
at 1m49.95s create binding app22 n 1
at 2m31.43s sever cluster m2
