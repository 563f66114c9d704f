// Package registry registers the workflows with a worker.
package registry
