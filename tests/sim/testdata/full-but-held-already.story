# The two other targets hold every replica that is left, and are full: nothing has to be placed.
seed 311550 mode enforce fleet 3 rate 0.5 quiet 10m3.66s
time healthy 4m0s
time schedule 40s
time takes 6s
binding app1 on m1,m2 may m1,m2,m3 divided replicas 4 tolerate -1 priority 0 soft 120 application 20
at 0s fill cluster m2
at 1.07s down cluster m1
at 15.83s replicas binding app1 n 3
at 5m46.78s fill cluster m3
at 6m38.43s replicas binding app1 n 2
