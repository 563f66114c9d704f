# A failover that only observes was cancelled before its rule was confirmed: it observes nobody.
seed 314674 mode observe fleet 3 rate 0.5 quiet 12m56.09s
time healthy 20s
time schedule 40s
binding app11 on m1 may any divided replicas 5 tolerate 30 priority 0
at 13.52s down cluster m1
at 54.23s cancel cluster m1
