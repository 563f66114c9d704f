# A drain had ended, and its failover was terminated before it freed what the drain had banned: the next one does.
seed 700887 mode enforce fleet 8 rate 1 quiet 11m36.48s
time healthy 4m0s
time schedule 50ms
odds signal-lost 350
binding app13 on m6,m1 may m6,m1 divided replicas 3 tolerate -1 priority 0 soft 120
binding app14 on m1 may m1,m2,m3,m4 duplicated replicas 5 tolerate -1 priority 0
binding app15 on m1,m8 may m1,m8 duplicated replicas 5 tolerate -2 priority 0 soft 30
at 7.36s taint cluster m1
at 13.5s drain cluster m1
at 2m58.18s untaint cluster m1
at 5m9.12s undrain cluster m1
at 7m28.25s terminate cluster m1
