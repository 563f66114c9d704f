package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// thirdAct: member2 dies and comes back half-way.
func (d *demo) thirdAct(ctx context.Context) error {
	d.heading("3. " + second + " dies too, and comes back half-way")
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

// fourthAct: member1 comes back, and the old copies there are purged.
func (d *demo) fourthAct(ctx context.Context) error {
	d.heading("4. " + first + " comes back, and the old copies there go")
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

// ending has the ledger judge what Lifeboat reports, and prints both.
func (d *demo) ending(ctx context.Context) error {
	d.heading("The report, and what the lab's own ledger says of it")
	question := ledger.Question{Rate: d.evictionRate()}
	for _, cluster := range []string{first, second} {
		s, err := d.lifeboat.status(ctx, cluster)
		if err != nil {
			return err
		}
		if s == nil {
			d.print("  " + cluster + ": no report")
			continue
		}
		if cluster == first && d.sabotage == sabotageLoseBinding {
			d.loseBinding(&s.report)
		}
		d.print(fmt.Sprintf("  %s  %-10s %s", d.in(bold, cluster), s.Phase, (&chapter{status: s}).outcomes()))
		question.Reports = append(question.Reports, s.report)
	}
	verdict, err := d.lab.judge(ctx, question)
	if err != nil {
		return err
	}
	d.print("")
	d.verdict(verdict)
	if err := d.file(verdict); err != nil {
		return err
	}
	if !verdict.OK {
		return errUnconvinced
	}
	return d.shown(question.Reports)
}

// loseBinding is the sabotage: a report that has forgotten a binding.
func (d *demo) loseBinding(r *ledger.Report) {
	forget := func(results []ledger.Result) []ledger.Result {
		return slices.DeleteFunc(results, func(x ledger.Result) bool { return x.Key.String() == victim })
	}
	r.Results = forget(r.Results)
	for i := range r.Past {
		r.Past[i].Results = forget(r.Past[i].Results)
	}
	d.print("  " + d.in(red, "SABOTAGE: the demo strikes "+victim+" from the report of "+r.Cluster))
}

func (d *demo) verdict(v ledger.Verdict) {
	for _, c := range v.Checks {
		mark := d.in(green, "✓")
		if len(c.Problems) > 0 {
			mark = d.in(red, "✗")
		}
		d.print(fmt.Sprintf("  %s %s %s", mark, c.Name, d.in(dim, fmt.Sprintf("(%d looked at)", c.Looked))))
		for i, problem := range c.Problems {
			if i == 8 {
				d.print(fmt.Sprintf("      and %d more", len(c.Problems)-i))
				break
			}
			d.print("      " + d.in(red, problem))
		}
	}
	e := v.Evictions
	d.print(d.in(dim, fmt.Sprintf("    %d evictions, at most %d within one second; allowed are %g per second, one second's worth of them late, and one more", e.Count, e.Fastest, d.evictionRate())))
}

// file keeps the verdict with every binding.
func (d *demo) file(v ledger.Verdict) error {
	out, err := os.Create(filepath.Join(d.dir, "ledger.txt"))
	if err != nil {
		return fmt.Errorf("keep the verdict: %w", err)
	}
	defer out.Close()
	if err := v.Print(out); err != nil {
		return fmt.Errorf("keep the verdict: %w", err)
	}
	d.print(d.in(dim, "    binding by binding: "+near(out.Name())))
	return nil
}

// shown: the demo has shown what it promises.
func (d *demo) shown(reports []ledger.Report) error {
	wanted := map[string][]string{first: {"Migrated", "Abandoned"}, second: {"Migrated", "Restored", "Abandoned"}}
	var missing []string
	for _, r := range reports {
		for _, outcome := range wanted[r.Cluster] {
			if !slices.ContainsFunc(r.Results, func(x ledger.Result) bool { return x.Outcome == outcome }) {
				missing = append(missing, outcome+" on "+r.Cluster)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the demo did not come to show: %s", strings.Join(missing, ", "))
	}
	return nil
}

// linger stays up until Ctrl-C, and says how to look around.
func (d *demo) linger(ctx context.Context) {
	d.heading("Everything stays up until Ctrl-C")
	dir := filepath.Join(d.dir, "lab")
	d.print(fmt.Sprintf(`  Temporal UI   %s/namespaces/%s/workflows
  Kubernetes    export KUBECONFIG=%s
  Lifeboat      export TEMPORAL_ADDRESS=%s TEMPORAL_NAMESPACE=%s LIFEBOAT_CONFIG=%s
                %s status            (also: status %s, pause, resume, cancel)
  The lab       %s kill|revive member3 --dir %s
                %s status|ledger --dir %s
  Logs          %s, %s`,
		d.lab.UIURL, d.lab.TemporalNamespace, d.lab.Kubeconfig, d.lab.TemporalAddress, d.lab.TemporalNamespace, d.lifeboat.config,
		binary(d.bin, "lifeboat"), first, binary(d.bin, "lab"), dir, binary(d.bin, "lab"), dir,
		filepath.Join(d.dir, "worker.log"), filepath.Join(d.dir, "controller.log")))
	for ctx.Err() == nil {
		if err := d.lifeboat.died(); err != nil {
			d.problem(err)
			return
		}
		pause(ctx, time.Second)
	}
}

// near is a path as one would type it from here.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}
