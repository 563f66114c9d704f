# The new home of what was placed there fails while the old one recovers: the untaint of the
# old one does not wait for a binding that has just been taken from its new home.
seed 30358 mode enforce fleet 7 rate 8 quiet 14m14.44s
time healthy 8m0s
time schedule 5s
time takes 6s
odds cut 289
odds signal-late 168
odds signal-lost 159
odds slow-signal 100
odds unreachable 88
binding app1 on m1 may m1/m5,m3,m7 duplicated replicas 1 tolerate -1 priority 0
binding app2 on m1 may m1,m2 duplicated replicas 2 tolerate -1 priority 0
at 20.18s down cluster m1
at 4m48.53s bump binding app2 n 2
at 5m0.34s down cluster m3
at 5m39.5s up cluster m1
