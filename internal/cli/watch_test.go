package cli_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/wire"
)

var clockTime = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`)

// step happens when the figures are read once. It reports whether it has answered the request.
type step func(f *fake, w http.ResponseWriter) bool

// script gives the fake a step for each look.
func (f *fake) script(steps []step) {
	f.look = func(f *fake, w http.ResponseWriter) bool {
		if f.looks <= len(steps) {
			return steps[f.looks-1](f, w)
		}
		return false
	}
}

func grow(f *fake, _ http.ResponseWriter) bool {
	f.stats.Won++
	f.stats.Stock--
	return false
}

// settle pays all; the campaign is seen closed from the next look on.
func settle(f *fake, _ http.ResponseWriter) bool {
	f.campaign.State, f.stats.Paid, f.stats.AmountPaid = "closed", f.stats.Won, f.stats.AmountWon
	return false
}

func fail(_ *fake, w http.ResponseWriter) bool {
	refuse(w, http.StatusServiceUnavailable, "unavailable", "redis does not answer")
	return true
}

func TestWatchPiped(t *testing.T) {
	f := newFake(t)
	f.script([]step{grow, grow, settle})
	got := run(t, f.at(), "watch", "c1")
	if got.code != cli.ExitOK || got.stderr != "" {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	golden(t, "watch.golden", clockTime.ReplaceAllString(got.stdout, "HH:MM:SS"))
}

func TestWatchJSON(t *testing.T) {
	f := newFake(t)
	f.script([]step{grow, settle})
	got := run(t, f.at(), "watch", "c1", "--json")
	type line struct {
		Campaign string    `json:"campaign"`
		State    string    `json:"state"`
		Won      int       `json:"won"`
		Rain     wire.Rain `json:"rain"`
	}
	var seen []line
	for _, text := range lines(got.stdout) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		seen = append(seen, l)
	}
	if len(seen) != 3 || seen[0].Won != 21 || seen[0].Campaign != "c1" || seen[0].Rain.ID != "r2" ||
		seen[2].State != "closed" {
		t.Errorf("%+v", seen)
	}
}

// A server that is away for a while is waited for, and said to be away once.
func TestWatchOutlivesAnOutage(t *testing.T) {
	f := newFake(t)
	f.script([]step{grow, fail, fail, grow, fail, settle})
	got := run(t, f.at(), "watch", "c1")
	want := strings.Repeat("redrain: redis does not answer (unavailable); still trying\n", 2)
	if got.code != cli.ExitOK || got.stderr != want || len(lines(got.stdout)) != 1+4 {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

func TestWatchGivesUpWhenRefused(t *testing.T) {
	f := newFake(t)
	f.script([]step{grow, func(_ *fake, w http.ResponseWriter) bool {
		refuse(w, http.StatusForbidden, "forbidden", "no")
		return true
	}})
	run(t, f.at(), "watch", "c1").exits(t, cli.ExitFailure, "redrain: no (forbidden)\n")
	f = newFake(t)
	f.script([]step{fail})
	run(t, f.at(), "watch", "c1").exits(t, cli.ExitFailure, "redrain: redis does not answer (unavailable)\n")
}

func TestWatchEndsWithCtrlC(t *testing.T) {
	f := newFake(t)
	f.script([]step{grow, func(*fake, http.ResponseWriter) bool {
		interrupt(t, syscall.SIGINT)
		return false
	}})
	run(t, f.at(), "watch", "c1").exits(t, cli.ExitOK, "")
}
