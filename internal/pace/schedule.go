package pace

import (
	"cmp"
	"slices"
	"time"
)

const (
	// PermitsAhead is how far ahead of its moment a permit is granted at most, so that it can
	// travel to the activity that uses it, and permitsLead how far at least; permitsLow is when
	// the next ones are granted.
	PermitsAhead = 3 * time.Second
	permitsLead  = time.Second
	permitsLow   = 1500 * time.Millisecond
	// PermitWindow is for how long a permit is good, from its moment on.
	PermitWindow = time.Second
	// PermitsEnd is the time within which a halt, a pause or a changed rate takes full effect:
	// whatever is out has passed by then (R4.5-18).
	PermitsEnd = PermitsAhead + PermitWindow
	// maxPermits bounds one grant.
	maxPermits = 1000
	// An unlimited pace begins with outAtLeast permits that are out: more would delay the first evictions. Up to
	// outQuick each that is used within usedSoon lets one more out, then every outGrows, up to the configured number;
	// half as many that are used later let one fewer out. Permits that pass unused are a machine that cannot keep up,
	// and halve it. It is never below outAtLeast.
	outAtLeast, outQuick, outGrows = 4, 20, 4

	usedSoon = PermitsEnd / 2
	// maxTold bounds the memory of what was reported: the second report of a permit comes within
	// seconds of the first.
	maxTold = 500
)

// Permit is the right to one eviction: it is sent not before Earliest, and not after Latest.
// Both are times of the Temporal server.
type Permit struct {
	Number   int64     `json:"number,omitempty"`
	Earliest time.Time `json:"earliest,omitzero"`
	Latest   time.Time `json:"latest,omitzero"`
}

// Valid reports whether a permit has a number and moments that a pacer gives.
func (p Permit) Valid() bool {
	good := p.Latest.Sub(p.Earliest)
	return p.Number > 0 && good > 0 && good <= PermitsEnd
}

// Permits are Size permits, numbered from Number on. The first may be used from First on,
// each of the others Apart after the one before it, and each for Window.
type Permits struct {
	Number int64         `json:"number"`
	Size   int           `json:"size"`
	First  time.Time     `json:"first"`
	Apart  time.Duration `json:"apart,omitempty"`
	Window time.Duration `json:"window"`
}

// Valid reports whether permits have numbers and moments that a pacer gives.
func (p Permits) Valid() bool {
	return p.Number > 0 && p.Size > 0 && p.Size <= maxPermits && p.Apart >= 0 && p.Window > 0 && p.Window <= PermitsEnd
}

// Take splits the first permit off.
func (p Permits) Take() (Permit, Permits) {
	one := Permit{Number: p.Number, Earliest: p.First, Latest: p.First.Add(p.Window)}
	p.Number, p.Size, p.First = p.Number+1, p.Size-1, p.First.Add(p.Apart)
	return one, p
}

// Last is the moment of the last of them.
func (p Permits) Last() time.Time { return p.First.Add(time.Duration(p.Size-1) * p.Apart) }

// Ends is when the last of them has passed.
func (p Permits) Ends() time.Time { return p.Last().Add(p.Window) }

// Granted are permits that have not passed yet.
type Granted struct {
	Permits
	Cluster string `json:"cluster"`
	// Used are those whose eviction is known to stand.
	Used int `json:"used,omitempty"`
}

// Schedule gives each eviction of the fleet its moment: 1/rate apart, over all failovers, and a
// few seconds ahead. A permit that was not used counts as used (R4.5-13): so no
// report can make the pace quicker.
type Schedule struct {
	// Number is the newest permit's.
	Number int64 `json:"number"`
	// Last is the moment of the newest permit, zero before the first.
	Last time.Time `json:"last,omitzero"`
	// NotBefore is before when no permit's moment may lie: earlier permits, of which nothing
	// is known, may be out until then.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Most is how many may be out at an unlimited pace, zero before the first; Used counts
	// towards one more, below zero towards one fewer.
	Most int `json:"most,omitempty"`
	Used int `json:"used,omitempty"`
	// Told are the newest permits whose use was reported: the activity and its migration may both
	// report one.
	Told []int64 `json:"told,omitempty"`
	// Out are the grants of which a permit may be in use.
	Out []Granted `json:"out,omitempty"`
}

// Expire forgets what has passed, and counts the permits of it that are not known to be used.
func (s *Schedule) Expire(now time.Time) (unused int) {
	late := false
	s.Out = slices.DeleteFunc(s.Out, func(g Granted) bool {
		if now.Before(g.Ends()) {
			return false
		}
		unused += g.Size - g.Used
		late = late || g.Apart == 0 && g.Used < g.Size
		return true
	})
	if late {
		s.Most = max(outAtLeast, s.most()/2)
	}
	return unused
}

// Next is the moment of the next permit.
func (s *Schedule) Next(p Pace, now time.Time) time.Time {
	next := now
	if !p.Unlimited {
		next = now.Add(permitsLead)
	}
	next = Later(next, s.NotBefore)
	if !p.Unlimited && p.Rate > 0 && !s.Last.IsZero() {
		next = Later(next, s.Last.Add(Apart(p.Rate)))
	}
	return next
}

// GrantAt is when the next permits may be granted.
func (s *Schedule) GrantAt(p Pace, now time.Time) time.Time {
	return s.Next(p, now).Add(-permitsLow)
}

// Room is how many permits may be granted now, to whomever.
func (s *Schedule) Room(p Pace, c Config, now time.Time) int {
	next := s.Next(p, now)
	switch {
	case !p.Flows(), s.GrantAt(p, now).After(now):
		return 0
	case p.Unlimited:
		s.Most = min(s.most(), max(1, c.UnlimitedChunk))
		return max(0, s.Most-s.out())
	case !(p.Rate > 0):
		return 0
	default:
		ahead := now.Add(PermitsAhead).Sub(next)
		return int(min(1+int64(ahead/Apart(p.Rate)), maxPermits))
	}
}

// most is how many permits may be out at an unlimited pace.
func (s *Schedule) most() int { return cmp.Or(s.Most, outAtLeast) }

// out counts the permits that may be in use.
func (s *Schedule) out() (n int) {
	for _, g := range s.Out {
		n += g.Size - g.Used
	}
	return n
}

// Grant gives the next size permits to a cluster.
func (s *Schedule) Grant(p Pace, now time.Time, cluster string, size int) Permits {
	g := Permits{Number: s.Number + 1, Size: size, First: s.Next(p, now), Window: PermitWindow}
	if p.Unlimited {
		g.Window = PermitsEnd - g.First.Sub(now)
	} else {
		g.Apart = Apart(p.Rate)
	}
	s.Number, s.Last = s.Number+int64(size), g.Last()
	s.Out = append(s.Out, Granted{Permits: g, Cluster: cluster})
	return g
}

// TakeBack takes back a grant that no failover received. The next grant uses its times again, unless a later one was given.
func (s *Schedule) TakeBack(p Permits) {
	s.Out = slices.DeleteFunc(s.Out, func(g Granted) bool { return g.Number == p.Number })
	if s.Last.Equal(p.Last()) {
		s.Last = p.First.Add(-p.Apart)
	}
}

// Has reports whether a permit is out, or its use was reported lately.
func (s *Schedule) Has(number int64) bool {
	return slices.Contains(s.Told, number) || slices.ContainsFunc(s.Out, func(g Granted) bool {
		return number >= g.Number && number < g.Number+int64(g.Size)
	})
}

// Use counts a permit whose eviction is known to stand, once; false means that it was counted
// before. Each grant ends at most as often as it has permits.
func (s *Schedule) Use(number int64, now time.Time) (first bool) {
	if slices.Contains(s.Told, number) {
		return false
	}
	s.Told = append(s.Told, number)
	s.Told = s.Told[max(0, len(s.Told)-maxTold):]
	for n := range s.Out {
		g := &s.Out[n]
		if number >= g.Number && number < g.Number+int64(g.Size) && g.Used < g.Size {
			g.Used++
			s.adapt(now.Sub(g.First) > usedSoon)
		}
	}
	return true
}

// adapt counts a permit that was used, soon or late.
func (s *Schedule) adapt(late bool) {
	if s.Used++; late {
		s.Used -= 3
	}
	switch {
	case s.Used >= outGrows, s.Used > 0 && s.most() < outQuick:
		s.Used, s.Most = 0, min(s.most()+1, maxPermits)
	case s.Used <= -outGrows:
		s.Used, s.Most = 0, max(s.most()-1, outAtLeast)
	}
}
