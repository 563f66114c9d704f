package view_test

import (
	"fmt"
	"testing"

	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/view"
	"github.com/lifeboat-failover/lifeboat/tests/fixtures"
)

// BenchmarkFailoverPage draws the page of a failover with 20,000 bindings in its tables.
func BenchmarkFailoverPage(b *testing.B) {
	v := evacuating()
	v.Counts.Affected, v.Counts.Waiting = 20_000, 20_000
	v.Next = nil
	for n := range 20_000 {
		v.Next = append(v.Next, view.Line{Binding: fmt.Sprintf("shop/app-%d", n), At: fixtures.At(300), Reason: reason.AwaitingPermit, To: []string{"member2", "member3"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		view.FailoverPage(v)
	}
}
