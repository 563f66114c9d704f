# at 2m45.151s: 4: shop/app11 from m1: paused 2m16.621s ago
seed 72000430 mode observe fleet 13 rate 0.5 quiet 7m6.91s
time healthy 3s
time schedule 40s
binding app11 on m1,m10 may m1,m10/m4 duplicated replicas 3 tolerate -1 priority 0
at 12.55s down cluster m1
at 28.53s pause cluster m1
at 46.29s enforce cluster m1
at 2m45.15s resume-enforce cluster m1 n 6
