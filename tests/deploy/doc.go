// Package deploy holds what deploy/ renders: that kustomize base and Helm chart are the
// same objects, that the programs take what the manifests give them, and that a real
// kube-apiserver accepts all of it without a warning. It is a module of its own, so that
// none of its needs are the product's.
package deploy
