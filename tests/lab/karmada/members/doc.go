// Package members plays the member clusters: each has a real HTTP /readyz on 127.0.0.1 and a fake
// kubelet whose workloads become ready one replica after another.
//
// A killed member refuses connections and its copies freeze: nothing progresses, nothing can be
// applied, deleted or read. Revived, it still has the copies it had. Each copy has a uid of its own;
// deleted and created again it gets a new one.
//
// It knows nothing of Karmada's control plane: Works are applied to it and it tells when a Work's
// copy changed.
package members
