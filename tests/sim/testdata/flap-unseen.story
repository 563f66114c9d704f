# Nobody tells of a blip while the cluster recovers; the time of the transition does, and the window begins anew.
seed 75000071 mode enforce fleet 8 rate 8 quiet 9m23.66s
time healthy 3s
time schedule 50ms
at 19.1s down cluster m1
at 1m47.14s blind
at 2m3.71s up cluster m1
at 2m22.75s down cluster m1
at 2m40.97s up cluster m1
