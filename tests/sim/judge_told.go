package sim

import (
	"maps"
	"time"

	"github.com/lifeboat-failover/lifeboat/activities"
	"github.com/lifeboat-failover/lifeboat/internal/proof"
	"github.com/lifeboat-failover/lifeboat/internal/rules"
)

// told judges by itself what a verdict of the controller is about, as the controller could see it when
// it signalled; what it returns is to be called when the signal has reached its migration. A verdict
// counts as a look does: from when it is heard, and only where no newer version was read or told.
func (j *judge) told(migration string, fact proof.BindingFact) func() {
	b, known := j.versions[fact.ResourceVersion]
	if fact.Verdict == nil || !known {
		return func() {}
	}
	sent := j.s.now()
	var well []string
	for _, t := range b.Clusters {
		away := j.awayAt(t.Name, sent) && j.awayAt(t.Name, sent.Add(-watchLag))
		if illCopy(b, t) == "" && !away {
			well = append(well, t.Name)
		}
	}
	return func() {
		if newest := j.newest[migration]; newest != "" && !rules.IsOlder(newest, fact.ResourceVersion) {
			return
		}
		j.newest[migration], j.said[migration] = fact.ResourceVersion, well
		was, is := j.well[migration], map[string]time.Time{}
		for _, name := range well {
			is[name] = j.s.now()
			if since, known := was[name]; known && !since.Before(j.s.ran[migration]) {
				is[name] = since
			}
		}
		j.well[migration] = is
		j.s.count["verdicts heard"]++
	}
}

// toldSince is what a look comes to that ended after a verdict about a newer version than it read: the
// verdict is followed next.
func (j *judge) toldSince(migration string, looked map[string]time.Time) map[string]time.Time {
	is := map[string]time.Time{}
	for _, name := range j.said[migration] {
		is[name] = j.s.now()
		if since, known := looked[name]; known {
			is[name] = since
		}
	}
	return is
}

// requests notes what a migration could say when it asks for its release.
func (j *judge) requests(migration, activity string) {
	if activity == activities.NameRelease {
		j.shown[migration] = maps.Clone(j.well[migration])
	}
}
