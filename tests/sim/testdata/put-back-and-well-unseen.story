# The rule was put back, matched, and the cluster turned before its failover looked: the answer of its look was lost.
seed 303516 mode enforce fleet 3 rate 3 quiet 11m8.06s
time healthy 1s
time schedule 1s
time takes 1s
odds answer-lost 57
odds cut 151
at 23.82s down cluster m1
at 2m10.93s drop-rules
at 2m22.21s put-rules
at 2m23.41s drain cluster m1 n 1000
at 2m27.29s up cluster m1
