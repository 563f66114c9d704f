# A cluster becomes a target again while its Work is being deleted: Karmada makes the Work anew.
seed 319853 mode enforce fleet 8 rate 0.5 quiet 24m19.9s
time healthy 8m0s
time schedule 50ms
time takes 6s
binding app3 on m1 may m1,m2 duplicated replicas 3 tolerate 300 priority 0
at 11m47.33s down cluster m1
at 19m1.17s up cluster m1
at 19m22.26s down cluster m2
at 19m35.61s put-back cluster m1 binding app3 n 3
