# at 11.755536771s: 12: a taint is put on m1, which nobody understands
seed 72002298 mode enforce fleet 4 rate 3 quiet 3m38.91s
time healthy 1s
time schedule 1s
odds signal-late 387
at 1.9s soft cluster m1
at 11.71s garble cluster m1
