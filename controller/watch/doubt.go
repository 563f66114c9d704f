package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lifeboat-failover/lifeboat/internal/karmada"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// Fresh reads Karmada as it stands, whatever a watch has said.
type Fresh interface {
	// ClusterNow reads one cluster; ErrGone where there is none.
	ClusterNow(ctx context.Context, name string) (karmada.Cluster, error)
	// BindingNow reads one binding; ErrGone where there is none.
	BindingNow(ctx context.Context, key karmada.BindingKey) (karmada.Binding, error)
	// Rules reads every rule of every source.
	Rules(ctx context.Context) ([]rules.Rule, error)
}

// lookTimeout bounds the look before a failover is started: a start waits for it.
const lookTimeout = 5 * time.Second

// doubt reads Karmada itself before a failover is started. A watch may have stood still, or
// this controller may have been frozen for a while and lead no more: what it believes is over.
type doubt struct {
	now    Fresh
	router *Router
	// read reads a cluster as the configuration says.
	read func(*karmada.Cluster) *karmada.Cluster
}

// needed reports whether anything still speaks for a failover of a cluster: the cluster
// itself, or a hold task that the items are about. Where that is not known, it is an error.
func (d *doubt) needed(ctx context.Context, cluster string, items []item) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	suspected, err := d.suspected(ctx, cluster)
	if suspected || err != nil {
		return suspected, err
	}
	for _, i := range items {
		if i.key == "" {
			continue // about the cluster
		}
		b, err := d.now.BindingNow(ctx, i.binding.Key)
		switch {
		case errors.Is(err, karmada.ErrGone):
		case err != nil:
			return false, err
		case slices.ContainsFunc(sightOf(&b).worked(), func(h hold) bool { return h.cluster == cluster }):
			return true, nil
		}
	}
	return false, nil
}

func (d *doubt) suspected(ctx context.Context, cluster string) (bool, error) {
	c, err := d.now.ClusterNow(ctx, cluster)
	if errors.Is(err, karmada.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rules, err := d.now.Rules(ctx)
	return err == nil && d.router.wouldSuspect(rules, *d.read(&c)), err
}
