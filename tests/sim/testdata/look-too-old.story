# The recovery is confirmed by a look from before the end of its window, and the blip that follows is not in it.
seed 65200319 mode enforce fleet 12 rate 8 quiet 7m49.78s
time healthy 1s
time schedule 5s
odds answer-lost 171
odds cut 29
binding app6 on m1,m7 may m1,m7 duplicated replicas 3 tolerate 0 priority 3
binding app9 on m1 may any duplicated replicas 0 tolerate -1 priority 0
binding app10 on m1,m7 may any divided replicas 5 tolerate -1 priority 2
binding app11 on m1,m7 may any duplicated replicas 4 tolerate -1 priority 2
at 18.63s down cluster m1
at 1m38.94s down cluster m1
at 2m19.35s up cluster m1
at 2m42.58s down cluster m1
at 3m10.78s up cluster m1
