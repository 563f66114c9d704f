package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// benchItems is how many bindings a large failover has queued.
const benchItems = 20_000

// queued is a queue of benchItems items in one state, with ten frozen policies of different priority.
func queued(state queue.State) *queue.Queue {
	q := &queue.Queue{}
	for n := range 10 {
		q.Policy = append(q.Policy, rules.Policy{Priority: int32(n % 3)}) //nolint:gosec // below 3
		q.Dues = append(q.Dues, rules.Due{Affected: true, At: fixtures.At(n)})
	}
	for n := range benchItems {
		q.Items = append(q.Items, queue.Item{Key: karmada.BindingKey{Namespace: "shop", Name: fmt.Sprintf("app-%d", n)}, Policy: n % 10, State: state})
	}
	return q
}

// BenchmarkSort is what one turn of a failover does about every item as time passes.
func BenchmarkSort(b *testing.B) {
	q := queued(queue.Tolerating)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		now := fixtures.At(100).Add(time.Duration(n) * time.Millisecond)
		for at := range q.Items {
			q.Advance(now, &q.Items[at], 0)
		}
	}
}

// BenchmarkFirst finds the next item, as every permit does.
func BenchmarkFirst(b *testing.B) {
	q := queued(queue.Ready)
	b.ReportAllocs()
	for b.Loop() {
		q.First(fixtures.At(100), 1, queue.In(queue.Ready))
	}
}

// BenchmarkNext finds when time alone brings an item on.
func BenchmarkNext(b *testing.B) {
	q := queued(queue.Tolerating)
	b.ReportAllocs()
	for b.Loop() {
		q.NextChange(fixtures.At(-1))
	}
}

// BenchmarkRemove takes the first item out and puts it back.
func BenchmarkRemove(b *testing.B) {
	q := queued(queue.Ready)
	b.ReportAllocs()
	for b.Loop() {
		q.Items = append(q.Items, q.Remove(0))
	}
}
