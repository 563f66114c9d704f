package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// drawn is what the panels of a dashboard show of a recording, by panel id.
type drawn struct {
	Step   float64          `json:"step"`  // seconds between two points
	Steps  int              `json:"steps"` // how many there are
	Panels map[int][]series `json:"panels"`
}

// series is one line of a panel; a point is null where there is none.
type series struct {
	RefID  string     `json:"refId"`
	Legend string     `json:"legend"`
	Points []*float64 `json:"points"`
}

// compute asks every query of a dashboard over a recording.
func compute(ctx context.Context, board, recorded string, to io.Writer) error {
	d, err := readDashboard(board)
	if err != nil {
		return err
	}
	r, err := readRecording(recorded)
	if err != nil {
		return err
	}
	out, err := d.over(ctx, r)
	if err != nil {
		return err
	}
	return json.NewEncoder(to).Encode(out)
}

// over computes every panel. The look-back is two scrapes, not five minutes: a run in
// the lab is a failover in fast motion.
func (d dashboard) over(ctx context.Context, r recording) (drawn, error) {
	out := drawn{Step: r.every.Seconds(), Steps: r.steps, Panels: map[int][]series{}}
	store, err := promqltest.NewLazyLoader(r.text, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		return out, fmt.Errorf("load the recording: %w", err)
	}
	defer store.Close() //nolint:errcheck // a temporary folder
	end := time.Unix(0, 0).Add(time.Duration(r.steps-1) * r.every)
	var loaded error
	store.WithSamplesTill(end, func(err error) { loaded = err })
	if loaded != nil {
		return out, fmt.Errorf("load the recording: %w", loaded)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: queries})
	defer engine.Close() //nolint:errcheck // nothing is written
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			query, err := engine.NewRangeQuery(
				ctx, store.Queryable(), promql.NewPrometheusQueryOpts(false, 2*r.every), t.query(rateScrapes*r.every),
				time.Unix(0, 0), end, r.every,
			)
			if err != nil {
				return out, fmt.Errorf("panel %q: %w", p.Title, err)
			}
			answer := query.Exec(ctx)
			matrix, err := answer.Matrix()
			if err != nil {
				return out, fmt.Errorf("panel %q: %w", p.Title, err)
			}
			slices.SortFunc(matrix, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
			for _, line := range matrix {
				out.Panels[p.ID] = append(out.Panels[p.ID], series{
					RefID: t.RefID, Legend: t.legend(line.Metric), Points: points(line, r),
				})
			}
			query.Close()
		}
	}
	return out, nil
}

// rateScrapes is how many scrapes a rate is taken over, as Grafana does at least.
const rateScrapes = 4

func points(line promql.Series, r recording) []*float64 {
	all := make([]*float64, r.steps)
	for _, p := range line.Floats {
		if math.IsNaN(p.F) || math.IsInf(p.F, 0) {
			continue
		}
		value := p.F
		all[p.T/r.every.Milliseconds()] = &value
	}
	return all
}
