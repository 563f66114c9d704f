seed 85200084 mode enforce fleet 11 rate 0.5 quiet 15m21.72s
time distribute 2s
time healthy 8m0s
time schedule 5s
binding app3 on m1,m7 may m1,m7 duplicated replicas 3 tolerate -2 priority 0 soft 30
at 4.96s down cluster m1
at 21.48s drain cluster m1
at 4m31.2s up cluster m1
at 8m5.53s put-back cluster m1 binding app3 n 8
