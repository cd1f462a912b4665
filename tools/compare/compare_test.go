//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestUsageIsWhatWasUsedBetween(t *testing.T) {
	start := time.Unix(100, 0)
	before := reading{at: start, cpu: map[string]float64{ofServer: 1, ofRedis: 2}}
	after := reading{at: start.Add(5 * time.Second), cpu: map[string]float64{ofServer: 1.5, ofRedis: 2.25}}
	used := after.since(before)
	if used.took != 5*time.Second {
		t.Errorf("took %v", used.took)
	}
	if got := used.micros(1000, ofServer, ofRedis); got != 750 {
		t.Errorf("0.75 s for 1000 taps are %v µs each", got)
	}
	if got := used.micros(1000, ofRedis); got != 250 {
		t.Errorf("Redis: %v µs", got)
	}
}

func TestUsageIsAddedUpAndFreedOfWhatIdles(t *testing.T) {
	idle := usage{took: 2 * time.Second, cpu: map[string]float64{ofServer: 0.5, ofRedis: 4}}
	used := usage{took: time.Second, cpu: map[string]float64{ofServer: 1, ofRedis: 1.5}}
	used.without(idle)
	if diff := cmp.Diff(map[string]float64{ofServer: 0.75, ofRedis: 0}, used.cpu); diff != "" {
		t.Error(diff)
	}
	var sum usage
	sum.add(used)
	sum.add(used)
	if diff := cmp.Diff(map[string]float64{ofServer: 1.5, ofRedis: 0}, sum.cpu); diff != "" {
		t.Error(diff)
	}
	if sum.took != 2*time.Second {
		t.Error(sum.took)
	}
}

func TestAProcessIsRead(t *testing.T) {
	me := process{ofGenerator, os.Getpid()}
	r, err := read([]process{me})
	if err != nil || r.at.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, ok := r.cpu[ofGenerator]; !ok {
		t.Errorf("no processor time of this process: %v", r.cpu)
	}
	if rss, err := me.rss(); err != nil || rss < 1<<20 {
		t.Errorf("this process has %d bytes in RAM, %v", rss, err)
	}
	if _, err := read([]process{{"nobody", 1 << 30}}); err == nil {
		t.Error("a process that is not there is read")
	}
}

func TestRowsAreChosenByName(t *testing.T) {
	chosen, err := choose("idle,taps")
	if err != nil || len(chosen) != 2 || chosen[0].name != "idle" || chosen[1].name != "taps" {
		t.Errorf("%v, %v", chosen, err)
	}
	if all, err := choose(""); err != nil || len(all) != len(rows) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := choose("taps,tips"); err == nil || !strings.Contains(err.Error(), `"tips"`) {
		t.Errorf("a row that there is not: %v", err)
	}
}

func TestAScopeEndsWhatItHasStarted(t *testing.T) {
	var ended []string
	fault := errors.New("a fault")
	err := do(context.Background(), io.Discard, func(s *scope) {
		s.Cleanup(func() { ended = append(ended, "first") })
		s.Cleanup(func() {
			ended = append(ended, "second")
			if !s.Failed() {
				t.Error("the scope does not know that it has failed")
			}
		})
		s.check("all is well", nil)
		s.check("something", fault)
		t.Error("it went on after a fault")
	})
	if !errors.Is(err, fault) {
		t.Errorf("the fault is reported as %v", err)
	}
	if diff := cmp.Diff([]string{"second", "first"}, ended); diff != "" {
		t.Error(diff)
	}
}

func TestAScopeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := do(ctx, io.Discard, func(s *scope) { s.check("all is well", nil) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted part ends with %v", err)
	}
}

func TestMetricsAreSummed(t *testing.T) {
	web := httptest.NewServer(promhttp.Handler())
	defer web.Close()
	c := &contestant{name: "a server", url: web.URL}
	err := do(t.Context(), io.Discard, func(s *scope) {
		if n := c.metric(s, "go_goroutines"); n < 1 {
			t.Errorf("%v goroutines", n)
		}
		if n := c.metric(s, "go_info"); n != 1 {
			t.Errorf("a metric with labels is %v", n)
		}
		c.metric(s, "go_gorout")
		t.Error("a part of a name is taken for a metric")
	})
	if err == nil {
		t.Error("a metric that there is not is no fault")
	}
}
