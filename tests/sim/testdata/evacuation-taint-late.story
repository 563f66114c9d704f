# The write of the evacuationTaint taint is thrown back until nothing asks for it any more.
seed 2000268 mode enforce fleet 3 rate 0.5 quiet 7m47s
time healthy 1s
time schedule 1s
odds signal-lost 392
odds throttled 120
at 17.28s taint cluster m1
at 2m1.71s untaint cluster m1
