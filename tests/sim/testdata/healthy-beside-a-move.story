# The copy beside one that was put back was Healthy meanwhile: its time begins anew.
seed 1101800 mode enforce fleet 7 rate 8 quiet 3m59.93s
time healthy 20s
time schedule 1s
binding app1 on m1,m7 may m1,m7/m2 divided replicas 2 tolerate -1 priority 1 purge Directly application 20 policy api
at 1m3.01s ail cluster m1 binding app1
at 2m18.21s app-cancel-back binding app1 n 4
at 2m23.25s app-resume binding app1 n 3
