package sim

import (
	"fmt"
	"time"

	"github.com/lifeboat-failover/lifeboat/workflows"
)

// law is the pace that operators and the fleet's health allow, as a function of time.
type law struct {
	rates     []rate
	evictions []time.Time
	halted    time.Time            // since when an operator has halted; zero when not
	paused    map[string]time.Time // by cluster
	crowd     time.Time            // since when more than the threshold are down; zero when not
	all       time.Time            // since when all are; zero when not
	slowed    int                  // evictions in a large fleet of which most is down
	large     time.Time            // since when the fleet is larger than largeFleet; zero when not
}

// rate is what is allowed from a moment on, in evictions per second.
type rate struct {
	from time.Time
	rate float64
}

const (
	// takes is within what a halt, a pause or another rate takes full effect.
	takes = 4 * time.Second
	// window is for how long a permit is good: its eviction may be that late.
	window = time.Second
	// threshold is the fault rate above which the fleet is slowed down or halted.
	threshold = 0.55
	// largeFleet is how many clusters may halt the whole fleet; one of more is slowed
	// down to slowRate evictions per second.
	largeFleet = 10
	slowRate   = 0.1
	// slack is what the answer to an order may take to reach the judge, and a judgement
	// of the fleet may be old.
	slack = 8 * time.Second
)

func newLaw(configured float64) law {
	return law{rates: []rate{{rate: configured}}, paused: map[string]time.Time{}}
}

func (l *law) ordered(now time.Time, cluster, update string) {
	switch update {
	case workflows.UpdatePause:
		l.paused[cluster] = now
	case workflows.UpdateResume:
		delete(l.paused, cluster)
	}
}

func (l *law) paced(now time.Time, update string, arg any) {
	switch update {
	case workflows.UpdateHalt:
		l.halted = now
	case workflows.UpdateResume:
		l.halted = time.Time{}
	case workflows.UpdateSetRate:
		if r, is := arg.(workflows.SetRate); is {
			l.rates = append(l.rates, rate{from: now, rate: r.Rate})
		}
	}
}

// evict takes one eviction, and says what of the law it breaks.
func (l *law) evict(now time.Time, cluster string) string {
	l.evictions = append(l.evictions, now)
	if broken := l.stopped(now, cluster); broken != "" {
		return broken
	}
	if broken := l.crowded(now); broken != "" {
		return broken
	}
	n := len(l.evictions)
	for i := n - 2; i >= 0; i-- {
		span := now.Sub(l.evictions[i])
		most := l.most(l.evictions[i].Add(-takes), now) // a permit outlives the rate that it was granted at
		if count := float64(n - i); count > most*(span+window).Seconds()+1+1e-6 {
			return fmt.Sprintf("%d evictions within %s at %g a second", n-i, span, most)
		}
	}
	return ""
}

// stopped: an operator has halted everything, or paused this cluster, longer ago than a permit lasts.
func (l *law) stopped(now time.Time, cluster string) string {
	if at := l.halted; !at.IsZero() && now.Sub(at) > takes {
		return fmt.Sprintf("halted %s ago", now.Sub(at))
	}
	if at, is := l.paused[cluster]; is && now.Sub(at) > takes {
		return fmt.Sprintf("paused %s ago", now.Sub(at))
	}
	return ""
}

// most is the highest rate that was in force between two moments. An order is known to
// the judge a moment after it took effect.
func (l *law) most(from, to time.Time) float64 {
	most := 0.0
	for n, r := range l.rates {
		ended := n+1 < len(l.rates) && l.rates[n+1].from.Before(from)
		if !ended && r.from.Before(to.Add(time.Second)) {
			most = max(most, r.rate)
		}
	}
	return most
}

// crowded: nothing moves for long while too much of the fleet is down.
func (l *law) crowded(now time.Time) string {
	lasts := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) > takes+slack }
	switch {
	case lasts(l.all):
		return fmt.Sprintf("the whole fleet has been down for %s", now.Sub(l.all))
	case !lasts(l.crowd), !l.large.IsZero() && !lasts(l.large):
		return ""
	case l.large.IsZero():
		return fmt.Sprintf("more than %g of the fleet has been down for %s", threshold, now.Sub(l.crowd))
	}
	l.slowed++
	return l.tooFast(now)
}

// look notes whether too much of the fleet is down now.
func (l *law) look(now time.Time, down, fleet int) {
	note := func(since *time.Time, is bool) {
		switch {
		case !is:
			*since = time.Time{}
		case since.IsZero():
			*since = now
		}
	}
	note(&l.crowd, fleet > 0 && float64(down)/float64(fleet) > threshold)
	note(&l.all, fleet > 0 && down == fleet)
	note(&l.large, fleet > largeFleet)
}

// tooFast: a large fleet that is slowed down keeps to the slow rate, from when that must
// have taken effect.
func (l *law) tooFast(now time.Time) string {
	since := l.crowd
	if l.large.After(since) {
		since = l.large
	}
	since = since.Add(takes + slack)
	n := 0
	for _, at := range l.evictions {
		if at.After(since) {
			n++
		}
	}
	if float64(n) > slowRate*(now.Sub(since)+window).Seconds()+1 {
		return fmt.Sprintf("%d evictions within %s, though most of a large fleet is down", n, now.Sub(since))
	}
	return ""
}
