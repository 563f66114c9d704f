package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/phase"
	"k8s.io/apimachinery/pkg/types"
)

// UnknownCopy is an old copy that may still run on a member: its Work went with a deleted
// Cluster object, and the copy was not seen to go.
type UnknownCopy struct {
	Binding string `json:"binding"`
	// Since is when the failover ended that moved the binding away.
	Since time.Time `json:"since"`
}

// WithUnknown adds what earlier failovers of that name left on a Cluster that was deleted.
func (s Source) WithUnknown(ctx context.Context, f Failover) Failover {
	failovers, err := s.History(ctx, HistoryRequest{Cluster: f.Cluster})
	if err != nil {
		f.Unread = "copies of unknown state: " + inWords(err)
		return f
	}
	var uid types.UID
	if f.FailoverStatus != nil {
		uid = f.UID
	}
	f.UnknownCopies = unknownCopies(failovers, uid)
	return f
}

// unknownCopies are what failovers, the newest first, owed on a cluster of another uid than
// the one that has its name since, or on one that was deleted while they ran.
func unknownCopies(failovers []PastFailover, uid types.UID) []UnknownCopy {
	var out []UnknownCopy
	for _, e := range failovers {
		rejoined := uid != "" && e.UID != "" && e.UID != uid
		if e.Ended == phase.FailoverGone || rejoined {
			for _, d := range e.PendingPurges {
				out = append(out, UnknownCopy{Binding: d.Key.String(), Since: e.Until})
			}
		}
		if e.UID != "" {
			uid = e.UID
		}
	}
	return out
}

// namedCopies is how many copies a line names.
const namedCopies = 20

// unknown shows copies that were not seen to go.
func (v View) unknown(cluster string, copies []UnknownCopy, beyond int) {
	if len(copies)+beyond == 0 {
		return
	}
	var names []string
	for _, c := range copies[:min(namedCopies, len(copies))] {
		names = append(names, c.Binding)
	}
	slices.Sort(names)
	more := ""
	if n := len(copies) + beyond - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	v.Wrapped("", fmt.Sprintf("Copies of unknown state: %d were moved away from a Cluster %s that was deleted, and may still run on the member: %s%s",
		len(copies)+beyond, cluster, strings.Join(names, ", "), more))
}
