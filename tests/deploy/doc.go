// Package deploy holds what deploy/ renders: that kustomize base and Helm chart are the
// same objects, and that the programs take what the manifests give them. It is a module of its own, so that
// none of its needs are the product's.
package deploy
