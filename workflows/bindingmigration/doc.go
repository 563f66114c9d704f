// Package bindingmigration moves one binding off one cluster: it writes the eviction, waits
// until the copy elsewhere is healthy, lets the old copy go, and follows its purge.
package bindingmigration
