# at 4m10.708315646s: 6: the failover of m1 has closed (Recovered), and a hold of shop/cfg1-configmap stands
seed 72001997 mode enforce fleet 6 rate 0.2 quiet 8m20.38s
time distribute 2s
time healthy 3s
time schedule 1s
odds conflict 148
odds late-write 150
odds slow-claim 94
odds slow-write 86
odds write-unreachable 74
binding app2 on m1,m6 may any duplicated replicas 2 tolerate -1 priority 0 purge Never needs cfg1,cfg2
binding app5 on m1 may any duplicated replicas 0 tolerate -1 priority 0 purge Gracefully needs cfg1,cfg2
binding app12 on m1,m6 may m1,m4,m5,m6 duplicated replicas 1 tolerate -1 priority 1 purge Gracefully needs cfg1,cfg2
at 22.68s down cluster m1
at 1m37.1s blind
at 2m5.42s up cluster m1
