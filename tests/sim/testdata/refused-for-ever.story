# A taint that the workers refuse again and again: the cluster is looked at all the same.
seed 80177 mode enforce fleet 3 rate 0.5 quiet 2m17.56s
time healthy 20s
time schedule 5s
odds signal-lost 283
at 28.7s down cluster m1
at 1m21.02s observe cluster m1
at 2m2.24s up cluster m1
