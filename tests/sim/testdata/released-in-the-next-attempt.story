seed 310341 mode enforce fleet 11 rate 8 quiet 21m46.45s
time healthy 3s
time schedule 1s
time takes 100ms
odds answer-lost 74
binding app4 on m1,m2 may m1,m2 duplicated replicas 1 tolerate -1 priority 0
at 27.3s down cluster m1
at 1m37.27s up cluster m1
at 2m11.46s down cluster m1
at 3m35.05s up cluster m1
at 3m36.79s down cluster m1
