seed 313216 mode enforce fleet 3 rate 0.5 quiet 10m47.28s
time healthy 1s
time schedule 40s
odds cut 297
odds unreachable 87
odds worker-dies 51
binding app1 on m3 may m1,m2,m3 duplicated replicas 1 tolerate -1 priority 0
binding app2 on m1 may m1/m3,m1 duplicated replicas 3 tolerate -1 priority 0 purge Directly
binding app3 on m3,m1 may m3,m1/m3 divided replicas 4 tolerate -1 priority 0
binding app4 on m1,m3 may m1,m3 divided replicas 2 tolerate 300 priority 0 purge Directly
binding app5 on m1 may any divided replicas 3 tolerate -1 priority 0
at 18.66s down cluster m1
at 2m44.86s up cluster m1
at 4m53.4s down cluster m1
at 7m37.84s drain cluster m3
at 8m13.38s undrain cluster m3
at 8m15.32s drain cluster m1 n 1000
at 10m16.5s up cluster m1
