package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A recording is what was scraped in one run, in the language of promtool's unit
// tests and gzipped: `load 2s`, then one line for each series with its values in turn,
// `_` where there was none and `stale` where it ended.

// scraped is one program whose /metrics is recorded.
type scraped struct{ job, address string }

type recorder struct {
	every   time.Duration
	targets []scraped
	steps   int
	series  map[string][]string // values by series
}

// record scrapes until ctx ends, then writes what it saw.
func (r *recorder) record(ctx context.Context, file string) error {
	if len(r.targets) == 0 || file == "" {
		return fmt.Errorf("nothing to record, or nowhere\n%s", usage)
	}
	r.series = map[string][]string{}
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, t := range r.targets {
			r.scrape(ctx, t)
		}
		r.steps++
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	if len(r.series) == 0 {
		return errors.New("nothing was scraped")
	}
	return r.write(file)
}

// scrape keeps what one program says; one that does not answer says nothing.
func (r *recorder) scrape(ctx context.Context, t scraped) {
	ctx, cancel := context.WithTimeout(ctx, r.every)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.address+"/metrics", http.NoBody)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close() //nolint:errcheck // read only
	decoder := expfmt.NewTextParser(model.LegacyValidation)
	families, err := decoder.TextToMetricFamilies(response.Body)
	if err != nil {
		return
	}
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "lifeboat_") || strings.HasPrefix(name, "temporal_") {
			r.keep(t, family)
		}
	}
}

func (r *recorder) keep(t scraped, family *dto.MetricFamily) {
	vectors, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
	if err != nil {
		return
	}
	for _, sample := range vectors {
		labels := maps.Clone(sample.Metric)
		labels["job"] = model.LabelValue(t.job)
		series := labels.String()
		values := r.series[series]
		for len(values) < r.steps {
			gap := "_"
			if len(values) > 0 && values[len(values)-1] != "_" && values[len(values)-1] != "stale" {
				gap = "stale"
			}
			values = append(values, gap)
		}
		r.series[series] = append(values, strconv.FormatFloat(float64(sample.Value), 'g', -1, 64))
	}
}

func (r *recorder) write(file string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "load %s\n", model.Duration(r.every))
	for _, series := range slices.Sorted(maps.Keys(r.series)) {
		values := r.series[series]
		if len(values) < r.steps {
			values = append(values, "stale")
		}
		fmt.Fprintf(&text, "  %s %s\n", series, strings.Join(folded(values), " "))
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text.Bytes()); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, packed.Bytes(), 0o644) //nolint:gosec // nothing secret
}

// folded writes a value that stands as `<value>x<how often more>`.
func folded(values []string) []string {
	var out []string
	for at := 0; at < len(values); {
		end := at
		for end+1 < len(values) && values[end+1] == values[at] && values[at] != "stale" {
			end++
		}
		switch more := end - at; {
		case more == 0:
			out = append(out, values[at])
		case values[at] == "_":
			out = append(out, "_x"+strconv.Itoa(more+1))
		default:
			out = append(out, values[at]+"x"+strconv.Itoa(more))
		}
		at = end + 1
	}
	return out
}

// recording is a recording that was read.
type recording struct {
	text  string
	every time.Duration
	steps int
}

func readRecording(file string) (recording, error) {
	packed, err := os.Open(file)
	if err != nil {
		return recording{}, err
	}
	defer packed.Close() //nolint:errcheck // read only
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return recording{}, fmt.Errorf("%s: %w", file, err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		return recording{}, fmt.Errorf("%s: %w", file, err)
	}
	r := recording{text: string(text)}
	head, _, _ := strings.Cut(r.text, "\n")
	every, err := model.ParseDuration(strings.TrimPrefix(head, "load "))
	if err != nil {
		return recording{}, fmt.Errorf("%s: %q: %w", file, head, err)
	}
	r.every = time.Duration(every)
	return r, r.measure()
}

// measure finds out how long the recording is.
func (r *recording) measure() error {
	for _, line := range strings.Split(r.text, "\n")[1:] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		_, values, err := queries.ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		r.steps = max(r.steps, len(values))
	}
	return nil
}
