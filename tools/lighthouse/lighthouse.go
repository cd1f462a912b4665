package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"redrain/internal/testkit/browser"
)

const (
	version = "lighthouse@12.8.2" // 13 wants a newer Node.js than Debian's
	least   = 95                  // of 100, in each category
	looks   = 4                   // at a page whose trace Lighthouse could not record
)

// unrecorded is Lighthouse's code for a trace without a beginning, with "Please run Lighthouse again". On Debian's
// Chromium it is seen in about every third look, whatever the page.
const unrecorded = "NO_NAVSTART"

// categories are Lighthouse's figures, in the order in which they are printed.
var categories = []string{"performance", "accessibility", "best-practices", "seo"}

// page is a page to measure: on a phone over a slow line, or at a desk.
type page struct {
	name, address string
	desk          bool
}

// lighthouse runs the program.
type lighthouse struct {
	chromium, dir string
	keep          bool
	out           io.Writer
}

func newLighthouse(keep string, out io.Writer) (*lighthouse, error) {
	chromium, err := browser.Find()
	if err != nil {
		return nil, err
	}
	if keep != "" {
		return &lighthouse{chromium: chromium, dir: keep, keep: true, out: out}, os.MkdirAll(keep, 0o750)
	}
	dir, err := os.MkdirTemp("", "redrain-lighthouse-*")
	return &lighthouse{chromium: chromium, dir: dir, out: out}, err
}

func (l *lighthouse) close() error {
	if l.keep {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// report is as much of Lighthouse's as is read.
type report struct {
	Categories map[string]struct {
		Score *float64 `json:"score"`
		Refs  []struct {
			ID     string  `json:"id"`
			Weight float64 `json:"weight"`
		} `json:"auditRefs"` //nolint:tagliatelle // Lighthouse's name
	} `json:"categories"`
	Audits map[string]struct {
		Title string   `json:"title"`
		Score *float64 `json:"score"`
		Value string   `json:"displayValue"` //nolint:tagliatelle // Lighthouse's name
	} `json:"audits"`
}

// judge prints the figures of a page, and returns an error if one is too low.
func (l *lighthouse) judge(ctx context.Context, p page, runs int) error {
	scores := map[string][]int{}
	why := map[string]string{}
	for i := range runs {
		r, err := l.look(ctx, p, i)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, category := range categories {
			c, ok := r.Categories[category]
			if !ok || c.Score == nil {
				return fmt.Errorf("%s: Lighthouse says nothing of %s", p.name, category)
			}
			scores[category] = append(scores[category], int(math.Round(*c.Score*100)))
			why[category] = r.lost(category)
		}
	}
	figures := []string{}
	var poor []error
	for _, category := range categories {
		all := slices.Sorted(slices.Values(scores[category]))
		middle := all[len(all)/2]
		figures = append(figures, fmt.Sprintf("%s %d", category, middle))
		if middle < least {
			poor = append(poor, fmt.Errorf("%s: %s is %d, want %d: %s", p.name, category, middle, least, why[category]))
		}
	}
	_, err := fmt.Fprintf(l.out, "%-8s  %s\n", p.name, strings.Join(figures, "  "))
	return errors.Join(append(poor, err)...)
}

// lost are the audits that have cost points of a category.
func (r *report) lost(category string) string {
	lost := map[string]bool{}
	for _, ref := range r.Categories[category].Refs {
		if a := r.Audits[ref.ID]; ref.Weight > 0 && a.Score != nil && *a.Score < 0.9 {
			lost[strings.TrimSpace(a.Title+" "+a.Value)] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lost)), "; ")
}

// look has Lighthouse look once.
func (l *lighthouse) look(ctx context.Context, p page, n int) (*report, error) {
	file := filepath.Join(l.dir, fmt.Sprintf("%s-%d.json", p.name, n+1))
	args := []string{"--yes", "--package", version, "lighthouse", p.address, "--quiet", "--output=json",
		"--output-path=" + file, "--only-categories=" + strings.Join(categories, ","),
		"--chrome-flags=--headless=new --no-sandbox --disable-gpu"}
	if p.desk {
		args = append(args, "--preset=desktop")
	}
	for again := range looks {
		command := exec.CommandContext(ctx, "npx", args...)
		command.Env = append(os.Environ(), "CHROME_PATH="+l.chromium)
		said, err := command.CombinedOutput()
		if err == nil {
			break
		}
		if again == looks-1 || !bytes.Contains(said, []byte(unrecorded)) {
			return nil, fmt.Errorf("npx %s: %w\n%s", version, err, said)
		}
	}
	data, err := os.ReadFile(file) //nolint:gosec // written just now
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &r, nil
}
