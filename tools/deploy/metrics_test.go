package deploy

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

var (
	metricType = regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`)
	metricName = regexp.MustCompile(`\b(?:redrain|process|go)_\w+`)

	// metricBucket is a bucket of a histogram, such as redrain_tap_seconds_bucket{le="0.2048"}.
	metricBucket = regexp.MustCompile(`redrain_\w+_bucket\{le="[^"]+"\}`)
)

// lazy are metrics that a node may have after an event, or with other settings than those of compose.yaml.
var lazy = []string{
	"redrain_alarms", "redrain_failed_rounds_total", "redrain_panics_total",
	"redrain_risk_url_failing",
}

// checkMetrics: each metric on a board, in a rule or in the autoscaler is in a scrape of the nodes.
func checkMetrics(t *testing.T, scrape string) {
	t.Helper()
	exists := map[string]bool{}
	for _, m := range metricType.FindAllStringSubmatch(scrape, -1) {
		exists[m[1]] = true
		if m[2] == "histogram" {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				exists[m[1]+part] = true
			}
		}
	}
	named := 0
	for where, expr := range expressions(t) {
		for _, name := range metricName.FindAllString(expr, -1) {
			named++
			if !exists[name] && !slices.Contains(lazy, name) {
				t.Errorf("%s: no node has %s", where, name)
			}
		}
		for _, bucket := range metricBucket.FindAllString(expr, -1) {
			of, limit, _ := strings.Cut(bucket, "{")
			if !regexp.MustCompile(of + `\{(?:.*,)?` + regexp.QuoteMeta(limit)).MatchString(scrape) {
				t.Errorf("%s: no node has %s", where, bucket)
			}
		}
	}
	if named < 120 {
		t.Errorf("the boards and rules name %d metrics; the patterns miss some", named)
	}
}

// expressions are those of the boards and rules, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"the autoscaler": file(t, "chart", "templates", "gateway.yaml")}
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			all[r.Alert+r.Record+r.Labels["slo"]] = r.Expr
		}
	}
	for _, name := range testenv.Got(filepath.Glob(path("grafana", "*.json"))).Must(t) {
		var board struct {
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}
		testenv.Must(t, json.Unmarshal([]byte(file(t, "grafana", filepath.Base(name))), &board))
		for _, p := range board.Panels {
			var exprs []string
			for _, q := range p.Targets {
				exprs = append(exprs, q.Expr)
			}
			all[filepath.Base(name)+": "+p.Title] = strings.Join(exprs, "\n")
		}
	}
	return all
}
