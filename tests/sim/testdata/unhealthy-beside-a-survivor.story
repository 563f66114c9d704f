# A copy that must prove itself is not healthy for a second, beside a survivor of which only a look can judge: the clock starts again.
seed 901237 mode enforce fleet 7 rate 8 quiet 2m58.35s
time healthy 1s
time schedule 50ms
odds signal-lost 216
binding app1 on m1,m2 may any divided replicas 5 tolerate 30 priority 2 application 20 policy web
at 12.13s ail cluster m1 binding app1
at 12.93s bump binding app1 n 6
at 27.22s unknown cluster m1 binding app1
at 28.73s heal cluster m1 binding app1
at 37.16s ail cluster m1 binding app1
at 53.24s heal cluster m1 binding app1
at 53.53s ail cluster m1 binding app1
at 1m11.47s revise cluster m1 binding app1
