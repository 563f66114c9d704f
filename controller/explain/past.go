package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifeboat-failover/lifeboat/controller/status"
	"github.com/lifeboat-failover/lifeboat/controller/subject"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/record"
	"github.com/lifeboat-failover/lifeboat/workflows"
)

// Ended is an outcome in a closed failover.
type Ended struct {
	FailoverID string `json:"failoverID"`
	Attempt    int    `json:"attempt"`
	record.Result
	// From is the source of the outcome.
	From Knower `json:"from"`
	// Records are the records of the audit trail that led to the outcome, the oldest first: about the binding, and
	// about its failover.
	Records []record.Audit `json:"records,omitempty"`
}

// Knower is the source of an outcome.
type Knower string

// The sources of outcomes.
const (
	FromReport Knower = "Temporal"
	FromTrail  Knower = "audit trail"
)

// lookBack is how many closed failovers are searched, the newest first.
const lookBack = 2000

// About selects the records of an audit trail about one binding or about a whole failover.
func About(key karmada.BindingKey, instance string) func(*record.Audit) bool {
	return func(x *record.Audit) bool {
		return x.Instance == instance && x.FailoverID != "" && concerns(*x, key)
	}
}

// concerns reports whether a record is about a binding, or about its whole failover.
func concerns(x record.Audit, key karmada.BindingKey) bool {
	return len(x.Bindings) == 0 || slices.Contains(x.Bindings, key.String())
}

// history adds the outcomes of the binding in closed failovers, from the reports in Temporal and from the audit
// trail.
func (s Source) history(ctx context.Context, b *karmada.Binding, only string, out *Explained) {
	if s.Status == nil {
		out.Unread = append(out.Unread, "Temporal: "+s.Away.Error())
	}
	of := slices.DeleteFunc(slices.Clone(s.Trail), func(x record.Audit) bool { return only != "" && x.Cluster != only })
	failovers, away := s.past(ctx, status.HistoryRequest{Cluster: only, Type: workflows.TypeClusterFailover, Most: lookBack}, of)
	if len(failovers) == lookBack {
		out.Unread = append(out.Unread, fmt.Sprintf("failovers that are over, older than the newest %d", lookBack))
	}
	for _, e := range failovers {
		if ended := endedIn(e, b); len(ended) > 0 {
			c := out.of(b, e.Cluster)
			c.Ended = append(c.Ended, ended...)
		}
	}
	if away != nil {
		out.Unread = append(out.Unread, "failovers that are over: "+away.Error())
	}
}

// past are closed failovers, by their reports in Temporal and by records of the audit trail.
func (s Source) past(ctx context.Context, r status.HistoryRequest, trail []record.Audit) (failovers []status.PastFailover, away error) {
	knows := s.Alone
	if s.Status != nil {
		knows = *s.Status
		failovers, away = s.Status.History(ctx, r)
	}
	if len(trail) > 0 {
		failovers = knows.With(ctx, failovers, trail, r)
	}
	return failovers, away
}

// endedIn are a binding's outcomes in one failover, the newest attempt first. The trail identifies it by name
// alone.
func endedIn(e status.PastFailover, b *karmada.Binding) []Ended {
	var out []Ended
	for _, attempt := range slices.Backward(e.Attempts) {
		records := slices.DeleteFunc(slices.Clone(e.Trail), func(x record.Audit) bool {
			return x.Attempt != attempt.Attempt || !concerns(x, b.Key)
		})
		own := slices.ContainsFunc(records, func(x record.Audit) bool { return len(x.Bindings) > 0 })
		found := outcomes(attempt.Results, b, own)
		if len(found) == 0 && own {
			found = []Ended{{Result: record.Result{Key: b.Key}, From: FromTrail}}
		}
		for n := range found {
			found[n].FailoverID, found[n].Attempt = e.FailoverID, attempt.Attempt
			if own {
				found[n].Records = records
			}
		}
		out = append(out, found...)
	}
	return out
}

// outcomes are those of the binding. A result without a uid is from the trail, if the trail has records of the
// binding.
func outcomes(results []record.Result, b *karmada.Binding, inTrail bool) []Ended {
	var out []Ended
	for _, r := range results {
		if r.Key != b.Key || r.UID != "" && b.UID != "" && r.UID != b.UID {
			continue
		}
		from := FromReport
		if r.UID == "" && inTrail {
			from = FromTrail
		}
		out = append(out, Ended{Result: r, From: from})
	}
	return out
}

// gone explains a deleted binding from its history; without any it returns notFound.
func (s Source) gone(ctx context.Context, ref subject.Ref, only string, notFound error) (Explained, error) {
	key, known := ref.Key()
	if !known || !errors.Is(notFound, subject.ErrNotFound) {
		return Explained{}, notFound
	}
	b := karmada.Binding{Key: key}
	out := Explained{Binding: key.String(), Gone: true, Clusters: []Cluster{}}
	s.history(ctx, &b, only, &out)
	if len(out.Clusters) == 0 {
		return Explained{}, notFound
	}
	return out, nil
}
