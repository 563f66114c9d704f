package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada"
)

// demo is one demonstration under way.
type demo struct {
	options
	*screen
	story    *story
	feed     *feed
	lab      *lab
	lifeboat *lifeboat
	plane    *controlPlane
	// cordoned: the archive's only other cluster takes nothing any more.
	cordoned bool
	loaded   int
}

// run plays everything and stops everything, whatever happens.
func run(ctx context.Context, o options) (err error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("create folder of the demo: %w", err)
	}
	s := newScreen(os.Stdout, o.colour)
	d := &demo{options: o, screen: s, story: newStory(s)}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.setUp(ctx); err != nil {
		return quiet(ctx, err)
	}
	d.feed = listen(ctx, d.lab, d.lifeboat, d.known(ctx))
	err = d.play(ctx)
	d.setProgress("")
	if d.keep || (d.freeze && err == nil) {
		if err != nil {
			d.problem(err)
		}
		d.linger(ctx)
	}
	return quiet(ctx, err)
}

// quiet: an end by Ctrl-C is no failure of its own; the shell sees it by the code of errUnconvinced only.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("stopped")
	}
	return err
}

// play is the four acts and the judgement. An act that takes too long does not keep the ledger from
// its say.
func (d *demo) play(ctx context.Context) error {
	acts := []func(context.Context) error{d.firstAct, d.secondAct, d.thirdAct, d.fourthAct}
	if d.freeze {
		return d.firstAct(ctx)
	}
	var late error
	for _, act := range acts {
		if err := act(ctx); errors.Is(err, errLate) {
			late = err
			break
		} else if err != nil {
			return err
		}
	}
	return errors.Join(late, d.ending(ctx))
}

// heading begins a part; what happened before it is told before it.
func (d *demo) heading(text string) {
	d.story.finish()
	d.screen.heading(text)
}

func (d *demo) problem(err error) { d.tell(time.Now(), "✗", red, d.in(red, err.Error())) }

// known is the number of entries before the story.
func (d *demo) known(ctx context.Context) int {
	entries, err := d.lab.timeline(ctx, 0)
	if err != nil || len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].Seq
}

// setUp starts everything and returns when all workloads run and Lifeboat answers.
func (d *demo) setUp(ctx context.Context) error {
	d.heading("Lifeboat: one cluster fails, another comes back")
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"etcd, kube-apiserver, Temporal and a simulated Karmada with six clusters", d.startLab},
		{"lifeboat setup, and a rule: not Ready for 3 s means failed", d.prepare},
		{"workloads on six clusters", d.load},
		{"lifeboat-worker and lifeboat controller, with rights of their own", d.startLifeboat},
	}
	for _, step := range steps {
		if d.terminal {
			d.setProgress("… " + step.what)
		}
		if err := step.do(ctx); err != nil {
			return err
		}
		d.tell(time.Now(), "✓", green, step.what)
		d.flushAll()
	}
	d.print("         " + d.in(dim, "Temporal UI: "+d.lab.UIURL+"/namespaces/"+d.lab.TemporalNamespace+"/workflows"))
	return nil
}

func (d *demo) startLab(ctx context.Context) (err error) {
	if d.lab, err = startLab(ctx, d.options); err != nil {
		return err
	}
	if d.plane, err = connect(d.lab.Kubeconfig); err != nil {
		return err
	}
	d.lifeboat, err = newLifeboat(d.options, d.lab)
	return err
}

func (d *demo) prepare(ctx context.Context) error {
	if _, err := d.lifeboat.cli(ctx, "setup"); err != nil {
		return err
	}
	return d.plane.putRule(ctx)
}

func (d *demo) load(ctx context.Context) error {
	var members []string
	for _, m := range d.lab.Members {
		members = append(members, m.Name)
	}
	bindings := workloads(d.bindings, members)
	d.loaded = len(bindings)
	return karmada.Load(ctx, d.plane.config, bindings)
}

// readyTimeout bounds how long Lifeboat and the workloads may take to be there.
const readyTimeout = 60 * time.Second

func (d *demo) startLifeboat(ctx context.Context) error {
	if err := d.lifeboat.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		answers, err := d.lifeboat.answers(ctx)
		running, e := d.lab.running(ctx)
		if answers && running >= d.loaded {
			return nil
		}
		if died := d.lifeboat.died(); died != nil {
			return died
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d workloads run, Lifeboat answers: %t: %w", running, d.loaded, answers, errors.Join(ctx.Err(), err, e))
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// stop ends everything from the top down.
func (d *demo) stop() error {
	var problems []error
	if d.feed != nil {
		d.feed.stop()
	}
	d.setProgress("")
	if d.lifeboat != nil {
		problems = append(problems, d.lifeboat.stop())
	}
	if d.lab != nil {
		problems = append(problems, stop(d.lab.Process))
	}
	return errors.Join(problems...)
}
