package show

import (
	"maps"
	"slices"
)

// LookUp writes where the words of an answer are explained, nothing without any. Each
// address names its word.
func LookUp[W ~string](p Page, where map[W]string) {
	if len(where) == 0 {
		return
	}
	p.Line("\nWhat it means, and what you can do:")
	for _, at := range slices.Sorted(maps.Values(where)) {
		p.Line("  %s", at)
	}
}
