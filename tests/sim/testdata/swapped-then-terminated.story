# at 1h0m11.64s: liveness: 45m0s after the world is well, these still run: [cluster-failover/m1]
# Its hold is gone with the swap, and so no binding tells of it: a move that was terminated then was waited for without end.
seed 61000725 mode enforce fleet 7 rate 0.5 quiet 14m11.64s
time healthy 3s
time schedule 40s
time takes 100ms
binding app3 on m1 may m1,m2 duplicated replicas 1 tolerate -1 priority 0 soft 120
at 2m3.42s down cluster m1
at 3m45.14s down cluster m2
at 4m17.87s up cluster m1
at 5m16.94s terminate-move cluster m1 binding app3
