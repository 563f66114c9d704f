# A failover was terminated while a move only held its dependents: that move ends their hold itself.
seed 1488 mode enforce fleet 5 rate 3 quiet 3m16.97s
time healthy 3s
time schedule 50ms
odds worker-dies 145
binding app1 on m1,m4 may any duplicated replicas 2 tolerate -1 priority 1 needs cfg1
at 13.56s down cluster m1
at 2m2.64s terminate cluster m1 binding app1
at 2m15.25s up cluster m1
