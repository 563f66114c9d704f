// Command lab runs a laboratory for cluster failover on one machine: a real
// etcd, a real kube-apiserver and a real Temporal, with a simulated Karmada and
// its member clusters on top. `lab up` runs it; the other commands talk to a
// running lab over HTTP on 127.0.0.1.
//
// It stands for the world around Lifeboat and knows nothing of it but the names
// of its users and search attributes.
package main
