// Package server starts and stops the lab's real servers: etcd, kube-apiserver
// and Temporal with its UI, each as a child process on free ports of 127.0.0.1,
// with certificates, tokens and logs in one folder.
//
// It promises that no child outlives this process, whatever ends it, and that a
// child that fails says why. It does not know Karmada, Lifeboat or what the
// servers are used for.
package server
