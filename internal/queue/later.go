package queue

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// LeaveForLater keeps the most urgent items, and of the others only by which policy each is frozen
// and whether it owes an outcome: a run hands only so much on to the next. What is blocked is
// blocked again when the list brings it back.
func (q *Queue) LeaveForLater(now time.Time, most int) {
	if len(q.Items) <= most {
		return
	}
	top := Top{Most: most}
	for at := range q.Items {
		if i := &q.Items[at]; !i.Permanent {
			top.Offer(q.RankOf(now, i), at)
		}
	}
	keep := make([]bool, len(q.Items))
	for _, at := range top.Sorted() {
		keep[at] = true
	}
	var kept []Item
	for at, i := range q.Items {
		switch {
		case keep[at] || i.Policy < 0:
			kept = append(kept, i)
		case i.Reason == reason.SchedulerReturnsIt: // it has its outcome, by which the list knows it again
		case i.Was:
			q.Later = fileUnder(q.Later, i)
		default:
			q.LaterIdle = fileUnder(q.LaterIdle, i)
		}
	}
	q.Items = kept
}

// fileUnder files an item under its frozen policy.
func fileUnder(sets []*BindingSet, i Item) []*BindingSet {
	for len(sets) <= i.Policy {
		sets = append(sets, &BindingSet{})
	}
	sets[i.Policy].Add(i.Key, i.UID)
	return sets
}

// Left is what is remembered of a binding that was left for later.
type Left struct {
	Policy int  // under which it is frozen
	Owes   bool // an outcome
}

// Remembered is what an earlier run remembered of a binding that it could not hand on.
func (q *Queue) Remembered(key karmada.BindingKey, uid types.UID) (Left, bool) {
	for n, sets := range [][]*BindingSet{q.Later, q.LaterIdle} {
		for policy, set := range sets {
			if set.Has(key, uid) {
				return Left{Policy: policy, Owes: n == 0}, policy < len(q.Policy)
			}
		}
	}
	return Left{}, false
}

// Rejoined takes a binding that is known otherwise again out of what was left for later.
func (q *Queue) Rejoined(key karmada.BindingKey, uid types.UID) {
	for _, set := range slices.Concat(q.Later, q.LaterIdle) {
		set.Remove(key, uid)
	}
}

// Owing is how many of them owe an outcome.
func (q *Queue) Owing() int {
	n := 0
	for _, set := range q.Later {
		n += set.Len()
	}
	return n
}

// hashBits is how much of a hash is kept: among 100,000 bindings the chance that a
// given one is taken for another is below one in a billion.
const hashBits = 48

// BindingSet is a set of bindings by a hash of key and uid. In its encoded form it
// takes about six bytes per binding, so that what became of a hundred thousand can be
// carried from run to run.
type BindingSet struct {
	in sets.Set[uint64]
}

func bindingHash(key karmada.BindingKey, uid types.UID) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.Namespace + "/" + key.Name + "/" + string(uid)))
	return h.Sum64() >> (64 - hashBits)
}

// Add takes a binding in.
func (s *BindingSet) Add(key karmada.BindingKey, uid types.UID) {
	s.insert(bindingHash(key, uid))
}

func (s *BindingSet) insert(hashes ...uint64) {
	if s.in == nil {
		s.in = sets.New[uint64]()
	}
	s.in.Insert(hashes...)
}

// Merge takes in all that another set has.
func (s *BindingSet) Merge(other *BindingSet) { s.insert(other.in.UnsortedList()...) }

// Remove takes a binding out.
func (s *BindingSet) Remove(key karmada.BindingKey, uid types.UID) {
	s.in.Delete(bindingHash(key, uid))
}

// Has reports whether a binding is in.
func (s *BindingSet) Has(key karmada.BindingKey, uid types.UID) bool {
	return s != nil && s.in.Has(bindingHash(key, uid))
}

// Len is how many are in.
func (s *BindingSet) Len() int {
	if s == nil {
		return 0
	}
	return s.in.Len()
}

// MarshalJSON packs the set: the differences of the sorted hashes.
func (s *BindingSet) MarshalJSON() ([]byte, error) {
	raw := make([]byte, 0, s.Len()*6)
	last := uint64(0)
	for _, h := range sets.List(s.in) {
		raw = binary.AppendUvarint(raw, h-last)
		last = h
	}
	return json.Marshal(raw)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *BindingSet) UnmarshalJSON(data []byte) error {
	var raw []byte
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("read a set of bindings: %w", err)
	}
	s.in = sets.New[uint64]()
	last := uint64(0)
	for len(raw) > 0 {
		d, n := binary.Uvarint(raw)
		if n <= 0 {
			return errors.New("read a set of bindings: a difference is cut off")
		}
		last += d
		s.in.Insert(last)
		raw = raw[n:]
	}
	return nil
}
