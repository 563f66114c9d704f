# A chunk that was granted at the old rate is used right after the rate fell.
seed 61011596 mode enforce fleet 4 rate 8 quiet 9m9.27s
time healthy 1s
time schedule 50ms
odds slow-read 57
odds slow-signal 84
binding app6 on m4,m1 may m1,m2,m4 duplicated replicas 4 tolerate -1 priority 3 purge Gracefully
binding app7 on m1,m3 may m1,m3 duplicated replicas 2 tolerate 0 priority 0
at 14.48s down cluster m1
at 1m19.24s rate n 2000
