# Another actor moves the application just before its migration writes: where it is then, no move has brought it.
seed 900814 mode enforce fleet 7 rate 3 quiet 10m17.14s
time healthy 3s
time schedule 50ms
binding app2 on m3 may any divided replicas 2 tolerate -1 priority 0 application 10 policy web
at 23.49s ail cluster m3 binding app2
at 33.75s replicas cluster m3 binding app2 n 1
at 55.31s spoil cluster m3 binding app2
