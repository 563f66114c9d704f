# at 2m33.480185764s: 1: shop/app2 is evicted from m1, and its dependent shop/cfg1-configmap is not held there
seed 319908 mode enforce fleet 4 rate 0.5 quiet 3m18.08s
time distribute 100ms
time healthy 20s
time schedule 40s
binding app2 on m2,m1 may m1,m2,m4 duplicated replicas 5 tolerate -1 priority 0 needs cfg1
at 9.26s down cluster m1
at 26.21s delete binding app2 n 2
at 2m33.45s create binding app2 n 4
