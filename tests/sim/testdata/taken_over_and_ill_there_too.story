seed 81154 mode enforce fleet 7 rate 1 quiet 6m34.17s
time healthy 3s
time schedule 50ms
binding app1 on m2 may m1,m2,m5,m7 duplicated replicas 5 tolerate -1 priority 0 application 0
at 1m22.97s ail cluster m2 binding app1
at 1m38.27s down cluster m2
at 1m40.93s spoil binding app1
