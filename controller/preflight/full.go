package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/controller/plan"
	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/k8sadapter"
)

// Objects are all objects that Lifeboat reads from Karmada.
type Objects interface {
	Inventory(ctx context.Context, may k8sadapter.May) []k8sadapter.Inventory
	Watches(ctx context.Context, may k8sadapter.May) []k8sadapter.Watched
	InStep(ctx context.Context) (k8sadapter.Sight, error)
}

// Full tries everything that Lifeboat does with a Karmada, except writing.
type Full struct {
	Karmada Objects
	// Preflight runs the other checks, after so many bindings with spec.failover.application were seen.
	Preflight func(ctx context.Context, applications int) []Check
	// Plan plans for every cluster as if it alone failed.
	Plan func(ctx context.Context) ([]plan.Plan, error)
	// May reports what the checked role lists and watches; nil is everything. Resources that no role is granted
	// are not tried.
	May k8sadapter.May
	// SyncWithin bounds the sync of all watches.
	SyncWithin time.Duration
}

// Report is the result.
type Report struct {
	// Verdict is the worst result of all checks.
	Verdict Result  `json:"verdict"`
	Checks  []Check `json:"checks"`
	// Objects counts the objects that were read, by resource.
	Objects map[string]int `json:"objects"`
	// Malformed are the objects that cannot be read, by resource.
	Malformed map[string][]k8sadapter.MalformedObject `json:"malformed,omitempty"`
}

// Run tries everything, also after a failure, unless the server answers nothing at all.
func (v Full) Run(ctx context.Context) Report {
	r := Report{Objects: map[string]int{}, Malformed: map[string][]k8sadapter.MalformedObject{}}
	for _, i := range v.Karmada.Inventory(ctx, v.May) {
		if i.Err == nil && !i.Absent {
			r.Objects[i.Resource] = i.Count
		}
		if len(i.Malformed) > 0 {
			r.Malformed[i.Resource] = i.Malformed
		}
		r.Checks = append(r.Checks, read(i))
	}
	if r.Verdict = Verdict(r.Checks); silent(r.Checks) {
		return r
	}
	watches := v.Karmada.Watches(ctx, v.May)
	for _, w := range watches {
		r.Checks = append(r.Checks, watched(w))
	}
	applications := 0
	if len(watches) > 0 {
		c, seen := v.inStep(ctx)
		r.Checks, applications = append(r.Checks, c), seen.Applications
	}
	r.Checks = append(r.Checks, v.Preflight(ctx, applications)...)
	r.Checks = append(r.Checks, v.plan(ctx))
	r.Verdict = Verdict(r.Checks)
	return r
}

// optional may be absent: older Karmadas do not serve it.
const optional = "clustertaintpolicies.policy.karmada.io"

// named bounds the malformed objects that a check names; the report has them all.
const named = 5

// tried is the check of one resource, with the finding where that is an error or an absence.
func tried(what, resource string, absent bool, err error) Check {
	name, _, _ := strings.Cut(resource, ".")
	c := Check{Name: what + " " + name, Result: OK}
	switch {
	case err != nil:
		c.Result, c.Found = resultOf(err), err.Error()
	case absent && resource != optional:
		c.Result, c.Found = Failed, "not served here"
	case absent:
		c.Found = "not served here"
	}
	return c
}

func read(i k8sadapter.Inventory) Check {
	c := tried("Read", i.Resource, i.Absent, i.Err)
	switch {
	case c.Found != "":
	case len(i.Malformed) > 0:
		c.Result, c.Found = Failed, fmt.Sprintf("%d, of which %d cannot be understood:", i.Count, len(i.Malformed))
		for _, m := range i.Malformed[:min(named, len(i.Malformed))] {
			c.Found += "\n" + m.Name + ": " + m.Problem
		}
		c.Do = "repair them; Lifeboat leaves each alone and handles everything else. -o json has all of them"
	default:
		c.Found = fmt.Sprintf("%d, all understood", i.Count)
	}
	return c
}

// silent reports that the server answered nothing.
func silent(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return c.Result != Unknown })
}

// resultOf distinguishes a server that did not answer from one that refused.
func resultOf(err error) Result {
	if errors.Is(err, karmada.ErrUnreachable) || errors.Is(err, karmada.ErrThrottled) {
		return Unknown
	}
	return Failed
}

func watched(w k8sadapter.Watched) Check {
	c := tried("Watch", w.Resource, w.Absent, w.Err)
	if c.Found == "" {
		c.Found = fmt.Sprintf("opened, and stayed so; %d events", w.Events)
	}
	return c
}

func (v Full) inStep(ctx context.Context) (Check, k8sadapter.Sight) {
	c := Check{Name: "Watch everything", Result: OK}
	ctx, cancel := context.WithTimeout(ctx, v.SyncWithin)
	defer cancel()
	seen, err := v.Karmada.InStep(ctx)
	if err != nil {
		c.Result, c.Found = Failed, err.Error()
		return c, seen
	}
	c.Found = fmt.Sprintf("as lifeboat controller does: saw %d clusters, %d rules, %d bindings", seen.Clusters, seen.Rules, seen.Bindings)
	return c, seen
}

// plan names the cluster whose failure would be worst.
func (v Full) plan(ctx context.Context) Check {
	c := Check{Name: "Plan", Result: OK}
	plans, err := v.Plan(ctx)
	switch {
	case err != nil:
		c.Result, c.Found = resultOf(err), err.Error()
	case len(plans) == 0:
		c.Found = "no cluster has joined"
	default:
		worst := plans[0]
		c.Found = fmt.Sprintf("%d clusters; worst to lose would be %s: %d would move, %d could not",
			len(plans), worst.Cluster, worst.Totals.Migrations, worst.Totals.Blocked)
		c.Do = "see it with lifeboat plan " + worst.Cluster
	}
	return c
}
