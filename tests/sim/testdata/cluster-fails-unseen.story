# The cluster of an Unhealthy copy began to fail a moment ago: a shared read of the fleet may not show it yet.
seed 1100430 mode enforce fleet 3 rate 8 quiet 9m41.54s
time healthy 20s
time schedule 1s
binding app1 on m1,m3 may any divided replicas 2 tolerate 30 priority 0 application 120 application-purge Directly policy web
binding app3 on m1 may m1/m2,m1,m3 divided replicas 2 tolerate 300 priority 0 application 60 policy web
at 1m21.72s ail cluster m1 binding app3
at 4m13.31s ail cluster m1 binding app1
at 4m23.5s soft cluster m1
