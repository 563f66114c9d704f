# A taint is confirmed; answers are lost, and a later attempt writes it: its cluster was well and failed again since.
seed 5277 mode enforce fleet 3 rate 0.5 quiet 6m0.38s
time healthy 1s
time schedule 1s
time takes 1s
odds answer-lost 107
odds cut 123
odds write-unreachable 106
binding app5 on m3,m1 may m1,m2,m3 divided replicas 2 tolerate -1 priority 0 purge Directly needs cfg1
at 20.3s down cluster m1
at 27.03s drain cluster m3 n 1000
at 1m52.27s up cluster m1
at 2m41.11s down cluster m1
