package activities

import (
	"context"
	"errors"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/reason"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// BeginRequest opens a failover.
type BeginRequest struct {
	Cluster string `json:"cluster"`
}

// Begin is what a failover starts from.
type Begin struct {
	Terms Terms `json:"terms"`
}

// BeginFailover hands out the worker's terms, the cluster's own mode among them:
// they are frozen for the failover.
func (a *Activities) BeginFailover(ctx context.Context, r BeginRequest) (Begin, error) {
	terms := a.Settings.Terms
	if terms.ObserveRate = a.Settings.Pace.EvictionRate; a.Settings.Pace.Unlimited {
		terms.ObserveRate = 0
	}
	c := karmada.Cluster{Name: r.Cluster}
	if a.Settings.ModeExceptions.ByLabel() {
		// A deleted cluster has no labels any more; it is known by its name alone.
		found, err := a.Reader.Cluster(ctx, r.Cluster)
		if err != nil && !errors.Is(err, karmada.ErrGone) {
			return Begin{}, classify("begin the failover of cluster", r.Cluster, err)
		}
		c.Labels = found.Labels
	}
	terms.Mode = a.Settings.modeOf(c)
	_, terms.Watched = a.leases().controllerLease(ctx)
	return Begin{Terms: terms}, nil
}

// modeOf is the mode in which this worker's own config handles a cluster.
func (s Settings) modeOf(c karmada.Cluster) rules.Mode {
	return s.ModeExceptions.Of(c, s.Terms.Mode)
}

// enforcing reports whether this worker may begin something new on a cluster, as just
// read, for a failover of that mode.
func (g guard) enforcing(mode rules.Mode, c karmada.Cluster) bool {
	return mode == rules.ModeEnforce && g.settings.modeOf(c) == rules.ModeEnforce
}

// beginsNothing says why this worker begins nothing new on a cluster, as just read, for a
// failover of that mode; no reason where it may. Restore, release and untaint do not ask.
func (g guard) beginsNothing(mode rules.Mode, c karmada.Cluster) (reason.Reason, string) {
	if !g.enforcing(mode, c) {
		return reason.ModeObserve, "this worker's own config, or the failover, says observe for this cluster"
	}
	return g.besideEvictor()
}

// besideEvictor says what speaks for a second evictor; no reason where nothing does.
func (g guard) besideEvictor() (reason.Reason, string) {
	if g.secondEvictor == nil {
		return reason.None, ""
	}
	if evidence := g.secondEvictor(); evidence != "" {
		return reason.SecondEvictor, evidence + "; lifeboat preflight names the flags to set"
	}
	return reason.None, ""
}

// mayEnforce reports whether a failover of that mode may do anything with this worker,
// for any cluster.
func (g guard) mayEnforce(mode rules.Mode) bool {
	return mode == rules.ModeEnforce && g.settings.ModeExceptions.MayEnforce(g.settings.Terms.Mode)
}
