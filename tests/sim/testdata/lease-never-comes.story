# A migration holds its dependents and waits for a lease of a failover that is terminated; the
# next one does not list its binding.
seed 1 mode enforce fleet 4 rate 0.01 quiet 5m0s
time healthy 1s
time schedule 1s
binding app1 on m1 may any duplicated replicas 1 tolerate -1 priority 0 needs cfg1
binding app2 on m1 may any duplicated replicas 1 tolerate -1 priority 0 needs cfg1
binding app3 on m1 may any duplicated replicas 1 tolerate -1 priority 0 needs cfg1
at 1s down cluster m1
at 2m20s opt-out binding app1
at 2m20s opt-out binding app2
at 2m20s opt-out binding app3
at 2m21s terminate cluster m1
at 3m0s up cluster m1
