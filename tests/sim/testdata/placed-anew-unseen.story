# The controller is away, and the scheduler places it anew between two looks: how long the copy before was well says nothing of the new one.
seed 1 mode enforce fleet 4 rate 3 quiet 8m
time healthy 1s
time schedule 50ms
binding app1 on m1 may m1,m2,m3 duplicated replicas 2 tolerate -1 priority 0
at 5s taint cluster m1
at 40s blind
at 75s remove cluster m2
at 5m untaint cluster m1
