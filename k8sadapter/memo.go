package k8sadapter

import (
	"encoding/json"
	"unique"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"
)

// memo decodes equal texts once: most bindings of a fleet have one of a few placements, requests and
// sets of labels or annotations, and share what was decoded. Do not change what it returns.
type memo[T any] struct{ known *lru.Cache }

const (
	// memoTexts is how many texts are remembered of each part, those used last.
	memoTexts = 2000
	// memoText is how long one may be, in bytes. A longer one is decoded each time.
	memoText = 4 << 10
)

var (
	placements = memo[decodedPlacement]{lru.New(memoTexts)}
	requests   = memo[corev1.ResourceList]{lru.New(memoTexts)}
	texts      = memo[map[string]string]{lru.New(memoTexts)}

	appliedPlacements = memo[*karmada.Placement]{lru.New(memoTexts)}
)

// of finds what was decoded of the same text, or decodes it. What has problems is not remembered.
func (m memo[T]) of(d *decoding, raw json.RawMessage, decode func() T) T {
	if len(raw) > memoText {
		return decode()
	}
	found, _ := m.known.Get(string(raw))
	if value, is := found.(T); is {
		return value
	}
	before := len(d.problems)
	value := decode()
	if len(d.problems) == before {
		m.known.Add(string(raw), value)
	}
	return value
}

// decodedPlacement is spec.placement, and the paths in it that this version does not read.
type decodedPlacement struct {
	placement *karmada.Placement
	unknown   []string
}

// interned is the one copy of a text that many objects repeat.
func interned(text string) string { return unique.Make(text).Value() }

// shareTexts gives equal labels or annotations one map.
func shareTexts(own map[string]string) map[string]string {
	text, err := json.Marshal(own)
	if err != nil {
		return own
	}
	return texts.of(&decoding{}, text, func() map[string]string { return own })
}
