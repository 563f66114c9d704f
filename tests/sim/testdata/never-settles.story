# A swap puts back a copy whose replicas changed meanwhile: its member brings it to those asked for now.
seed 40000083 mode enforce fleet 5 rate 0.5 quiet 9m25.11s
time healthy 4m0s
time schedule 50ms
time takes 1s
binding app2 on m4,m2 may any duplicated replicas 5 tolerate -1 priority 0
binding app3 on m1,m4 may any duplicated replicas 2 tolerate -1 priority 0
at 27.32s taint cluster m1
at 3m51.6s down cluster m2
at 4m46.97s replicas binding app3 n 3
at 4m51.69s untaint cluster m1
