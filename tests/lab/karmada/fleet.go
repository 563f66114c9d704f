package karmada

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lifeboat-failover/lifeboat/tests/lab/karmada/members"
)

// fleet holds the running members by name.
type fleet struct {
	knobs   func() Knobs
	changed func(work string)

	mu      sync.RWMutex
	running map[string]*members.Member
}

func newFleet(knobs func() Knobs, changed func(work string)) *fleet {
	return &fleet{knobs: knobs, changed: changed, running: map[string]*members.Member{}}
}

// start brings a member up, with the copies of an earlier run where a file holds them.
func (f *fleet) start(spec MemberSpec, saved string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[spec.Name] != nil {
		return fmt.Errorf("there is a member %q already", spec.Name)
	}
	timing := func() members.Timing {
		k := f.knobs()
		return members.Timing{Report: k.ReportLatency.Duration, ReadyAfter: k.WorkloadReadyAfter.Duration}
	}
	member, err := members.Start(members.Config{Name: spec.Name, CPUs: spec.CPUs, Timing: timing, Changed: f.changed})
	if err != nil {
		return err
	}
	if saved != "" {
		if err := member.Load(saved); err != nil {
			member.Close()
			return err
		}
	}
	f.running[spec.Name] = member
	return nil
}

// Member is nil for an unknown name.
func (f *fleet) Member(name string) *members.Member {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.running[name]
}

// Names lists the members in order.
func (f *fleet) Names() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(maps.Keys(f.running))
}

// Forget closes a member for good.
func (f *fleet) Forget(name string) {
	f.mu.Lock()
	member := f.running[name]
	delete(f.running, name)
	f.mu.Unlock()
	if member != nil {
		member.Close()
	}
}

// close saves and closes every member.
func (f *fleet) close(file func(member string) string) error {
	var problems []error
	for _, name := range f.Names() {
		if path := file(name); path != "" {
			problems = append(problems, f.Member(name).Save(path))
		}
		f.Forget(name)
	}
	return errors.Join(problems...)
}
