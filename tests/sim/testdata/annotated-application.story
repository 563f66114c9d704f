# The annotation of the purge mode stands above what the spec of the application says.
seed 310970 mode enforce fleet 6 rate 0.5 quiet 18m49.85s
time healthy 4m0s
time schedule 1s
binding app10 on m6,m4 may any duplicated replicas 2 tolerate -1 priority 0 application 20
at 4m55.75s down cluster m4
at 5m12.77s edit-policy binding app10 n 9
