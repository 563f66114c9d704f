// Package fleetpacer grants the permits of evictions, at a pace that follows the health of
// the whole fleet.
package fleetpacer
