package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is what of a Grafana dashboard is looked at.
type dashboard struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
}

type panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Targets     []target `json:"targets"`
	GridPos     struct{ H, W, X, Y int }
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

type target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
}

func readDashboard(file string) (dashboard, error) {
	var d dashboard
	content, err := os.ReadFile(file)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(content, &d); err != nil {
		return d, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// query is what Grafana would send: its variables filled in.
func (t target) query(rateInterval time.Duration) string {
	interval := model.Duration(rateInterval).String()
	return strings.NewReplacer("$__rate_interval", interval, "$__interval", interval, "$instance", "default").Replace(t.Expr)
}

var placeholder = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// legend names one series as Grafana would.
func (t target) legend(l labels.Labels) string {
	return placeholder.ReplaceAllStringFunc(t.LegendFormat, func(found string) string {
		return l.Get(placeholder.FindStringSubmatch(found)[1])
	})
}

var queries = parser.NewParser(parser.Options{})

// metrics are the names that a query selects.
func metrics(query string) ([]string, error) {
	expr, err := queries.ParseExpr(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	var names []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names, nil
}
