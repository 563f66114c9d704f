// Package activities is where Lifeboat looks and acts. Every activity is small
// and idempotent, re-reads what it decides on, asks the core for the judgement,
// and classifies its own errors once.
//
// It promises not to know Kubernetes clients: it declares the ports that it needs
// and k8sadapter implements them. It keeps no state between calls.
package activities
