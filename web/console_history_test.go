package web_test

import (
	"net/http"
	"strings"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// historyOf is what a server remembers of a rain of thirty seconds that began at a time, from two seconds before it.
func historyOf(start int64) object {
	columns := object{}
	add := func(name string, v any) {
		list, _ := columns[name].([]any)
		columns[name] = append(list, v)
	}
	for i := range int64(40) {
		add("t", start+(i-2)*1_000)
		add("span_ms", 1_000)
		add("online", 40+i)
		add("waiting", 0)
		add("grabs_per_second", 5*i)
		if i < 2 {
			add("tap_p50_ms", nil)
			add("tap_p99_ms", nil)
		} else {
			add("tap_p50_ms", 1.5)
			add("tap_p99_ms", 7.5)
		}
		for _, name := range []string{"taps", "won", "paid", "empty", "late"} {
			add(name, 1_000+10*i)
		}
		add("stock", 4_000-10*i)
	}
	columns["from"], columns["to"] = start-5_000, start+40_000
	return columns
}

// noHistory is that of a server that remembers nothing.
func noHistory() object {
	h := historyOf(0)
	for name := range h {
		if name != "from" && name != "to" {
			h[name] = []any{}
		}
	}
	return h
}

// openFigures opens the figures of the newest rain.
func openFigures(p *browsertest.Page) {
	browsertest.Eval[any](p, `void (location.hash = "#/campaigns/c1/rains")`)
	p.Press("tbody tr button")
}

// TestConsoleRemembersARain opens the figures of a rain that is over; and one of which nothing was kept.
func TestConsoleRemembersARain(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	start := f.now() - 3_600_000
	rained := f.rainFrom(start, "ended")
	rained["duration_ms"], rained["ends_at"] = 30_000, start+34_000
	f.campaign["rains"] = []object{rained}
	kept := historyOf(start)
	var asked string
	f.answer["GET /campaigns/c1/history"] = f.known(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		asked = r.URL.RawQuery
		replyJSON(w, kept)
	})
	for _, o := range []chromium.Options{{}, {Device: phoneDevice, Language: "zh-CN,zh", Dark: true}} {
		p := f.open(t, o)
		openFigures(p)
		p.Says(`[data-stat="rain-taps"] dd`, "380")        // since the last row before it began
		p.Says(`dialog .chart:nth-child(2) .key b`, "380") // the chart's end, of the same rain
		p.Says(`[data-stat="rain-peak"] dd`, "195")
		p.Says(`[data-stat="rain-online"] dd`, "79")
		p.Says(`[data-stat="rain-p99"] dd`, "7.5 ms")
		p.Until("the charts", `document.querySelectorAll("dialog .u-over").length === 4`)
		p.State("history")
		f.set(func() {
			if !strings.Contains(asked, "from=") || !strings.Contains(asked, "to=") {
				t.Errorf("asked for %q", asked)
			}
		})
	}
	f.set(func() { kept = noHistory() })
	p := f.open(t, chromium.Options{})
	openFigures(p)
	p.Says("dialog", "No figures for this rain")
}

// TestConsoleChartsGoOn: the charts of the live view begin with what the server has kept, although the feed has this
// moment only; after a reload they do so again.
func TestConsoleChartsGoOn(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	const before = 120 // seconds, of the 300 that are shown
	start := f.now() - before*1_000
	rained := f.rainFrom(start, "ended")
	rained["duration_ms"], rained["ends_at"] = 30_000, start+34_000
	f.campaign["rains"] = []object{rained}
	f.answer["GET /campaigns/c1/history"] = f.known(func(w http.ResponseWriter, _ *http.Request) {
		replyJSON(w, historyOf(start))
	})
	p := f.open(t, chromium.Options{Device: deskDevice})
	for _, when := range []string{"at first", "after a reload"} {
		p.Until(when+": what is now, and the most of before", `document.querySelector(".plot")?.ariaLabel ===
			"Grabs per second: now 93, at most 195 in the last 5 minutes"`)
		p.Until(when+": as many online as before", `[...document.querySelectorAll(".plot")].at(-1).ariaLabel
			.includes("at most 300")`)
		p.Shoot("charts " + when)
		p.Go("about:blank")
		p.Go("/console#/campaigns/c1")
	}
}
