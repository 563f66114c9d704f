// Command image builds Lifeboat's container image without a container engine and without a
// registry: it compiles both programs statically and writes an OCI archive.
//
// The same sources, version, platforms and Go make the same bytes on any machine. The image
// contains only the two programs, the accounts root and nonroot, and the root certificates that
// Mozilla trusts. Containerfile makes the same image with an engine, on a distroless base.
package main
