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
	f.serve("GET /campaigns/c1/history", func(r *http.Request, _ []byte) (int, any) {
		asked = r.URL.RawQuery
		return http.StatusOK, kept
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
