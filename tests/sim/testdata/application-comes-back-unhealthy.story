# It moved off m1, the scheduler brought it back there, and it was moved at once: the time of the copy that had gone ran on.
seed 7044 mode enforce fleet 5 rate 40 quiet 8m53.88s
time healthy 20s
time schedule 1s
binding app2 on m1,m2 may m1,m2/m1,m5 duplicated replicas 3 tolerate -1 priority 0 application 30
at 51.7s ail cluster m1 binding app2
