# Two clusters recover at once, and only one of them has a place left: the other's restore is undone, and it is let go.
seed 78000022 mode enforce fleet 3 rate 0.2 quiet 14m32.94s
time healthy 4m0s
time schedule 40s
odds slow-read 61
odds write-unreachable 200
ask namespace 1
binding app2 on m1,m2 may any duplicated replicas 1 tolerate -1 priority 0 soft 120 asks
at 2m9.54s down cluster m1
at 8m9.11s approve cluster m1 n 4
at 9m15.72s up cluster m1
at 9m39.91s drain cluster m3 n 1000
at 9m54.61s taint cluster m1
at 11m5.46s approve cluster m3 n 20
at 12m58.52s undrain cluster m3
at 13m12.53s untaint cluster m1
