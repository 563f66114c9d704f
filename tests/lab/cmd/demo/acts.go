package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/ledger"
)

const (
	first  = "member1"
	second = "member2"
	// spare is the only other cluster of the archive.
	spare = "member6"
)

// frozenAfter is how many evictions the frozen demo waits for.
const frozenAfter = 14

// slowScheduler gives the demo the time to cordon the archive's only other cluster.
const slowScheduler = "2s"

// patience is how long an evacuation may take beyond what its pace needs.
const patience = 120 * time.Second

func (d *demo) evacuation() time.Duration {
	return patience + time.Duration(float64(d.bindings)/d.evictionRate()*float64(time.Second))
}

// firstAct: member1 dies and everything that can leaves it.
func (d *demo) firstAct(ctx context.Context) error {
	d.heading("1. " + first + " dies, and everything that can leaves it")
	d.feed.watch(first)
	if err := d.lab.kill(ctx, first); err != nil {
		return err
	}
	if d.freeze {
		return d.until(ctx, "evictions from "+first, d.evacuation(), func() bool { return d.story.times(ledger.Evicted, first) >= frozenAfter })
	}
	healed := false
	evacuated := func() bool {
		c := d.story.clusters[first]
		if c == nil || c.status == nil {
			return false
		}
		if !healed && c.told["waits "+unready] && c.moving() == 1 {
			healed = true
			d.tell(time.Now(), "✚", green, "the demo lets the third pod of "+unready+" start")
			if err := d.plane.heal(ctx, unready); err != nil {
				d.problem(err)
			}
		}
		return c.Phase == "Evacuated"
	}
	return d.until(ctx, "the evacuation of "+first, d.evacuation(), evacuated)
}

// secondAct: member2 dies and comes back half-way.
func (d *demo) secondAct(ctx context.Context) error {
	d.heading("2. " + second + " dies too, and comes back half-way")
	d.feed.watch(second)
	if err := d.lab.knobs(ctx, map[string]any{"schedulerLatency": slowScheduler}); err != nil {
		return err
	}
	if err := d.lab.kill(ctx, second); err != nil {
		return err
	}
	halfway := func() bool {
		return d.cordoned && d.story.times(ledger.Evicted, second) >= 3
	}
	if err := d.until(ctx, "the first evictions from "+second, patience, halfway); err != nil {
		return err
	}
	if err := d.lab.revive(ctx, second); err != nil {
		return err
	}
	settled := func() bool { return d.story.phase(second) == "Recovered" }
	if err := d.until(ctx, "the recovery of "+second, patience, settled); err != nil {
		return err
	}
	d.told(second, "Restored", "back on "+second+", where they never stopped: ")
	d.told(second, "Abandoned", "never left "+second+": ")
	return d.lab.knobs(ctx, map[string]any{"schedulerLatency": "20ms"})
}

// thirdAct: member1 comes back, and the old copies there are purged.
func (d *demo) thirdAct(ctx context.Context) error {
	d.heading("3. " + first + " comes back, and the old copies there go")
	d.feed.watch(first)
	if err := d.plane.cordon(ctx, spare, false); err != nil {
		return err
	}
	if err := d.lab.revive(ctx, first); err != nil {
		return err
	}
	settled := func() bool { return d.story.phase(first) == "Recovered" }
	if err := d.until(ctx, "the recovery of "+first, patience, settled); err != nil {
		return err
	}
	d.told(first, "Abandoned", "never left "+first+": ")
	return nil
}

// told tells which bindings had an outcome.
func (d *demo) told(cluster, outcome, text string) {
	var names []string
	for _, r := range d.story.clusters[cluster].Results {
		if r.Outcome == outcome {
			names = append(names, r.Key.String())
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if extra := len(names) - 3; extra > 0 {
		names, more = names[:3], fmt.Sprintf(" and %d more", extra)
	}
	d.tell(time.Now(), "=", cyan, text+strings.Join(names, ", ")+more)
}

// interfere is the demo's own hand, moved by what the ledger saw: it cordons the archive's only other
// cluster before the scheduler has looked, and sabotages.
func (d *demo) interfere(ctx context.Context, e ledger.Entry) error {
	if e.Kind != ledger.Evicted {
		return nil
	}
	switch {
	case e.Cluster == second && e.Binding == archive:
		if err := d.plane.cordon(ctx, spare, true); err != nil {
			return err
		}
		d.cordoned = true
		d.tell(time.Now(), "◆", yellow, "the demo cordons "+spare+", the only other cluster of "+archive)
	case e.Cluster == first && e.Binding == victim && d.sabotage == sabotageDropTask:
		if err := d.plane.dropTask(ctx, victim); err != nil {
			return err
		}
		d.tell(time.Now(), "✗", red, "SABOTAGE: the demo takes the hold task of "+victim+" away before its new copy runs")
	}
	return nil
}
