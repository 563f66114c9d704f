package queue_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/queue"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func item(namespace, name string, priority int32, due int) queue.Rank {
	return queue.Rank{Key: karmada.BindingKey{Namespace: namespace, Name: name}, Priority: priority, Due: fixtures.At(due)}
}

// Rules: R4.4-1.
func TestTheQueueGoesByPriorityThenDueThenName(t *testing.T) {
	want := []queue.Rank{
		item("z", "urgent", 10, 900),
		item("b", "early", 0, 10),
		item("", "role", 0, 20),
		item("a", "one", 0, 20),
		item("a", "two", 0, 20),
		item("b", "one", 0, 20),
		item("a", "last", -1, 0),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, queue.Compare)
	require.Equal(t, want, got)
}

func drawItem(t *rapid.T) queue.Rank {
	return item(
		rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"),
		rapid.Int32Range(-1, 1).Draw(t, "priority"), rapid.IntRange(0, 2).Draw(t, "due"),
	)
}

// Rules: R4.4-1.
func TestTheQueueHasOneOrderOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawItem(t), drawItem(t), drawItem(t)
		switch {
		case a == b && queue.Compare(a, b) != 0:
			t.Fatalf("%v stands before itself", a)
		case a != b && (queue.Compare(a, b) < 0) == (queue.Compare(b, a) < 0):
			t.Fatalf("%v and %v have no order", a, b)
		case queue.Compare(a, b) < 0 && queue.Compare(b, c) < 0 && queue.Compare(a, c) >= 0:
			t.Fatalf("the order goes in a circle over %v, %v, %v", a, b, c)
		}
	})
}

// Thousands of items are carried from run to run: 1 MB is what there is.
func TestAnItemIsSmallOnTheWire(t *testing.T) {
	data := fixtures.Must(json.Marshal(queue.Item{
		Key: item("production", "checkout-deployment", 0, 0).Key, UID: "0b0e5d2c-2c6c-4b6f-9d5e-0d1f5a8f4f11",
		State: queue.Tolerating, Affected: true, Queued: fixtures.At(60),
	}))(t)
	require.Less(t, len(data), 200, string(data))
}

// The first of many, in one pass, are the first of the sorted whole.
// Rules: R4.4-1.
func TestTheFirstOfManyAreThoseOfTheSortedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := make([]queue.Rank, rapid.IntRange(0, 60).Draw(t, "n"))
		for i := range items {
			items[i] = queue.Rank{
				Key:      karmada.BindingKey{Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "ns"), Name: fmt.Sprint(i)},
				Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
				Due:      fixtures.At(rapid.IntRange(0, 3).Draw(t, "due")),
			}
		}
		top := queue.Top{Most: rapid.IntRange(0, 70).Draw(t, "most")}
		for i := range items {
			top.Offer(items[i], i)
		}
		var got []queue.Rank
		for _, i := range top.Sorted() {
			got = append(got, items[i])
		}
		slices.SortFunc(items, queue.Compare)
		want := items[:min(len(items), top.Most)]
		if len(want) == 0 {
			require.Empty(t, got)
			return
		}
		require.Equal(t, want, got)
	})
}
