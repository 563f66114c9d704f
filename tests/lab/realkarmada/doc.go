// Package realkarmada runs a Karmada that was built from its source, with real member clusters:
// aggregated API server, controller manager, scheduler and webhook beside the lab's etcd and
// kube-apiserver; for each member a kube-apiserver, kube-controller-manager, kube-scheduler and kwok,
// which plays nodes and pods. It answers the same control API as the simulated Karmada.
//
// Two things are played, because the stories create bindings and not policies: each binding gets the
// resource template that it names, and the annotations ready-after, stuck-ready-at and never-ready-on of
// package karmada hold for its pods.
package realkarmada
