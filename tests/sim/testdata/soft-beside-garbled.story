# at 27.070752419s: 12: a taint is put on m1, which nobody understands
seed 72001241 mode enforce fleet 8 rate 8 quiet 4m17.89s
time healthy 20s
time schedule 1s
time takes 1s
at 8.45s garble cluster m1
at 27.06s soft cluster m1
