# Most of a small fleet is down, and one of those becomes one that nobody understands: it counts all the same.
seed 42001054 mode enforce fleet 3 rate 3 quiet 8m14.18s
time healthy 1s
time schedule 40s
time takes 1s
binding app11 on m1,m3 may any duplicated replicas 1 tolerate -1 priority 0
at 14.67s down cluster m1
at 35.57s down cluster m3
at 1m3.96s garble cluster m1
