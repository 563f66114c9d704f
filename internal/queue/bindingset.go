package queue

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

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
