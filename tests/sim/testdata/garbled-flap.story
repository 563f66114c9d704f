# A cluster comes back and fails again while nobody can read it: the window of its rule begins anew once
# somebody can.
seed 1 mode enforce fleet 4 rate 3 quiet 12m
binding app1 on m1 may any duplicated replicas 2 tolerate -1 priority 0
at 28s down cluster m1
at 33s garble cluster m1
at 2m20s up cluster m1
at 3m16s down cluster m1
at 4m4s ungarble cluster m1
