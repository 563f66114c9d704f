# A move is terminated, and its cluster deleted before anybody noticed: the hold that it left goes too.
seed 61001472 mode enforce fleet 7 rate 1 quiet 11m19.68s
time healthy 4m0s
time schedule 5s
time takes 6s
binding app2 on m6,m1 may any duplicated replicas 5 tolerate -1 priority 1
at 5.37s down cluster m1
at 4m26.34s sicken cluster m2
at 9m2.4s terminate-move cluster m1 binding app2
at 9m12.88s remove cluster m1
