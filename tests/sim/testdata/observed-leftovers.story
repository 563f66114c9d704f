# The run in observe finds the taints of a terminated one, and may take them away only once it is
# told to enforce.
seed 60007 mode enforce fleet 8 rate 0.5 quiet 9m56.73s
time healthy 1s
time schedule 1s
at 12.36s down cluster m1
at 4m24.52s blind
at 4m45.76s terminate cluster m1
at 5m8.11s observe cluster m1
at 8m46.05s see
