# A placed move is emptied by the next failure while its own cluster recovers for the second time: the untaint waits for its restore.
seed 61010847 mode enforce fleet 8 rate 3 quiet 22m55.52s
time healthy 4m0s
time schedule 40s
binding app8 on m1 may m1,m5,m6,m8 duplicated replicas 4 tolerate -1 priority 0
at 23.02s down cluster m1
at 2m35.56s up cluster m1
at 3m22.2s down cluster m1
at 3m25.01s down cluster m5
at 4m23.64s up cluster m1
