// Command image builds Lifeboat's container image without a container engine and
// without a registry: it compiles both programs statically and writes an OCI archive.
//
// It promises that the same sources, version, platforms and Go make the same bytes,
// wherever and whenever it runs, and that nothing is in the image but the two programs,
// the accounts root and nonroot, and the root certificates that Mozilla trusts.
// Containerfile makes the same image with an engine, on a distroless base.
package main
