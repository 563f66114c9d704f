package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/pace"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
	"k8s.io/apimachinery/pkg/types"
)

// ApplicationRequest requests how the copies of an application are.
type ApplicationRequest struct {
	Key karmada.BindingKey `json:"key"`
	UID types.UID          `json:"uid,omitempty"` // empty at the first look
	// Moves has the revisions of all copies read: one of them may have just arrived.
	Moves bool `json:"moves,omitempty"`
	// Recall is the workflow whose run before Run is asked where it moved the binding; empty for none.
	Recall string `json:"recall,omitempty"`
	Run    string `json:"run,omitempty"`
}

// Application is an application as it stands, and what its failover goes by.
type Application struct {
	Gone     bool      `json:"gone,omitempty"` // the binding, another uid, or its spec.failover.application
	UID      types.UID `json:"uid,omitempty"`
	Resource string    `json:"resource,omitempty"`
	// Unfit is why spec.failover.application cannot be followed.
	Unfit     reason.Verdict     `json:"unfit,omitzero"`
	Tolerated time.Duration      `json:"tolerated,omitempty"`
	Grace     time.Duration      `json:"grace,omitempty"`
	Policy    rules.Policy       `json:"policy"`
	PolicyID  string             `json:"policyID,omitempty"`
	Copies    []rules.CopyHealth `json:"copies,omitempty"`
	// ClusterUIDs are those of the clusters of Copies, in the same order.
	ClusterUIDs []types.UID `json:"clusterUIDs,omitempty"`
	// Terms has the mode of the clusters of Copies: observe where one of them is observed, empty where none is known.
	Terms Terms `json:"terms"`
	// Arrivals are those of the last failover of this application, where they were asked for; Left is the move that was
	// taken over from that.
	Arrivals rules.Arrivals   `json:"arrivals,omitempty"`
	Left     *rules.Departure `json:"left,omitempty"`
}

// applicationAssessor judges the health of one application.
type applicationAssessor struct {
	reader
	leases  leases
	earlier Applications // nil: none is known
}

// AssessApplication reads the copies of a binding, and what it says of its own failover.
func (a applicationAssessor) AssessApplication(ctx context.Context, r ApplicationRequest) (Application, error) {
	b, gone, err := a.binding(ctx, r.Key, r.UID)
	if err != nil {
		return Application{}, classify("assess application", r.Key.String(), err)
	}
	if gone || b.Deleting || b.Application == nil && b.Malformed == "" || !a.settings.Applications {
		return Application{Gone: true}, nil
	}
	out := Application{UID: b.UID, Resource: resourceName(&b), PolicyID: b.PolicyID(), Terms: a.settings.Terms}
	out.Terms.Mode = ""
	_, out.Terms.Watched = a.leases.controllerLease(ctx)
	if err := a.recall(ctx, r, &out); err != nil { // for a malformed binding, too: it is asked for once
		return Application{}, classify("assess application", r.Key.String(), err)
	}
	if b.Malformed != "" || b.Application == nil {
		out.Unfit = reason.Verdict{Reason: reason.Malformed, Message: b.Malformed}
		return out, nil
	}
	out.Unfit.Reason, out.Unfit.Message = rules.UnfitApplication(b.Application)
	out.Tolerated, out.Grace = rules.Tolerated(b.Application), time.Duration(b.Application.GraceSeconds)*time.Second
	out.Policy = rules.ApplicationPolicy(&b)
	if err := a.readCopies(ctx, &b, r, &out); err != nil {
		return Application{}, classify("assess application", r.Key.String(), err)
	}
	return out, nil
}

// recall asks where an earlier failover moved the binding.
func (a applicationAssessor) recall(ctx context.Context, r ApplicationRequest, out *Application) (err error) {
	if r.Recall != "" && a.earlier != nil {
		out.Arrivals, out.Left, err = a.earlier.Arrivals(ctx, r.Recall, r.Run)
	}
	return err
}

// readCopies reads how each copy is.
func (a applicationAssessor) readCopies(ctx context.Context, b *karmada.Binding, r ApplicationRequest, out *Application) error {
	var clocks []string // what stops one may have just been signalled
	for _, item := range b.Status.Aggregated {
		if item.Health == karmada.HealthUnhealthy {
			clocks = append(clocks, item.Cluster)
		}
	}
	fleet, err := a.fleetWith(ctx, clocks...)
	if err != nil {
		return err
	}
	out.Copies = rules.CopiesOf(b, failsIn(fleet))
	if err := a.readRevisions(ctx, b, r.Moves || out.Left != nil, out.Copies); err != nil {
		return err
	}
	a.readModes(fleet, out)
	return nil
}

// readModes takes the mode of the clusters of the copies: observe where one of them is observed.
func (a applicationAssessor) readModes(fleet []karmada.Cluster, out *Application) {
	for _, c := range out.Copies {
		on, known := find(fleet, c.Cluster, "")
		out.ClusterUIDs = append(out.ClusterUIDs, on.UID)
		if mode := a.settings.modeOf(on); known && (mode == rules.ModeObserve || out.Terms.Mode == "") {
			out.Terms.Mode = mode
		}
	}
}

// failsIn reports which clusters of a fleet fail themselves; an unknown one does.
func failsIn(fleet []karmada.Cluster) func(string) bool {
	return func(name string) bool {
		c, known := find(fleet, name, "")
		return !known || rules.FailsItself(c)
	}
}

// readRevisions reads the revisions of the copies that are Unhealthy, or of all.
func (a applicationAssessor) readRevisions(ctx context.Context, b *karmada.Binding, all bool, copies []rules.CopyHealth) error {
	for n := range copies {
		if !all && copies[n].Health != karmada.HealthUnhealthy {
			continue
		}
		var err error
		if copies[n].Revision, err = a.revision(ctx, b, copies[n].Cluster); err != nil {
			return err
		}
	}
	return nil
}

// revision is that of the workload on a cluster, empty where there is no Work.
func (k reader) revision(ctx context.Context, b *karmada.Binding, cluster string) (string, error) {
	found, err := k.Reader.Revision(ctx, b, cluster)
	if errors.Is(err, karmada.ErrGone) || errors.Is(err, karmada.ErrInvalid) {
		return "", nil
	}
	if err != nil || found == "" {
		return "", err
	}
	return string(b.Resource.UID) + "/" + found, nil
}

// stillUnhealthy re-reads an application's own reason to move: the copy is Unhealthy, of the revision
// whose time is over, and its cluster is not the reason.
func (a evictor) stillUnhealthy(ctx context.Context, r EvictRequest, b *karmada.Binding, c karmada.Cluster, out *EvictResult) (stop bool, err error) {
	item := b.Item(r.Cluster)
	switch {
	case b.Application == nil || item != nil && item.Health == karmada.HealthHealthy:
		return out.ends(EvictNotAffected, reason.Healed, "its copy is not Unhealthy any more"), nil
	case item == nil || item.Health != karmada.HealthUnhealthy || rules.FailsItself(c):
		return out.ends(EvictRefused, reason.ClockStopped, "its health is not known, or its cluster fails"), nil
	}
	now, err := a.revision(ctx, b, r.Cluster)
	if err == nil && rules.IsAnotherRevision(now, r.Unhealthy.Revision) {
		return out.ends(EvictNotAffected, reason.Healed, "another revision runs, which has a time of its own"), nil
	}
	return false, err
}

// unhealthyShares counts the applications that are Unhealthy, by policy, by cluster and in the fleet.
func (a fleetAssessor) unhealthyShares(ctx context.Context, fleet []karmada.Cluster) ([]pace.Share, error) {
	shares, fails := map[string]pace.Share{}, failsIn(fleet)
	err := a.each(ctx, false, func(b *karmada.Binding) {
		if b.Application == nil || b.Malformed != "" {
			return
		}
		add := func(scope string, unhealthy bool) {
			s := shares[scope]
			s.Scope, s.Of = scope, s.Of+1
			if unhealthy {
				s.Unhealthy++
			}
			shares[scope] = s
		}
		copies := rules.CopiesOf(b, fails)
		for _, c := range copies {
			add(pace.ScopeOfCluster(c.Cluster), c.Unhealthy())
		}
		unhealthy := slices.ContainsFunc(copies, rules.CopyHealth.Unhealthy)
		add(pace.ScopeFleet, unhealthy)
		if policy := b.PolicyID(); policy != "" {
			add(pace.ScopeOfPolicy(policy), unhealthy)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("count unhealthy applications: %w", err)
	}
	var above []pace.Share
	for _, s := range shares {
		if s.Above(a.settings.Pace.BreakerShare) {
			above = append(above, s)
		}
	}
	slices.SortFunc(above, pace.Share.Compare)
	return above, nil
}
