// Package webhook does what Karmada's API servers and webhooks do to objects on their way in, as far
// as a CustomResourceDefinition cannot: it stamps timeAdded on NoExecute taints, moves a cluster's
// zone to zones, and gives bindings their permanent id. For tests it also delays writes of Lifeboat
// to bindings that ask for it.
//
// It serves HTTPS on 127.0.0.1 with a certificate of its own and promises to change nothing else.
package webhook
