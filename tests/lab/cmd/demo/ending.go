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
