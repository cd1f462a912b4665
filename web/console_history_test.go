package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// historyOf is a server's history of a rain of thirty seconds with this start, from two seconds before it.
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

// TestConsoleRemembersARain opens the figures of a rain that is over, and of one without a history.
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

// TestConsoleNamesCampaigns: a player's claims name their campaigns, each asked for until its name is known, and one
// that is gone once. On a small desk all columns of a campaign's rains are in sight.
func TestConsoleNamesCampaigns(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	asked := map[string]int{}
	name := func(id, is string) {
		f.serve("GET /campaigns/"+id, func(*http.Request, []byte) (int, any) {
			asked[id]++
			return http.StatusOK, f.readyCampaign(id, object{"name": is,
				"rains": []object{f.rainFrom(f.now()-90_000, "ended")}})
		})
	}
	name("c7", "年会红包雨 2026")
	name("c8", "Spring gala")
	f.serve("GET /campaigns/c9", func(*http.Request, []byte) (int, any) {
		asked["c9"]++
		return http.StatusNotFound, object{"status": 404, "code": "unknown_campaign"}
	})
	f.refuseOnce("GET /campaigns/c8", object{"status": 503, "code": "unavailable"})
	claims := []object{}
	for i, id := range []string{"c7", "c8", "c9", "c7", "c7"} {
		claims = append(claims, object{"claim": fmt.Sprint(id, "-", i), "user": "u1", "packet": i, "amount": 120,
			"at": f.now(), "state": "settled"})
	}
	f.serve("GET /users/u1/claims", always(object{"items": claims}))
	p := f.openConsole(t, chromium.Options{Device: deskDevice, Language: "zh-CN,zh"}, "#/users/u1")
	p.Says("table", "年会红包雨 2026")
	p.Until("what has no name", `[...document.querySelectorAll("td a.mono")].map((a) => a.textContent).join()
		.includes("c8,c9")`)
	p.Go("/console#/audit")
	p.Says("tbody", "campaign.create")
	p.Go("/console#/users/u1")
	p.Says("table", "Spring gala")
	f.mu.Lock()
	testenv.Equal(t, fmt.Sprint(asked), "map[c7:1 c8:1 c9:1]",
		"campaigns were asked for: %v, and c8 once in vain", asked)
	f.mu.Unlock()
	p.Go("/console#/campaigns/c7/rains")
	p.Until("the rains", `document.querySelector("tbody tr") !== null`)
	const over = `((s) => s.scrollWidth - s.clientWidth)(document.querySelector(".scroll"))`
	if wide := browsertest.Eval[float64](p, over); wide > 0 {
		t.Errorf("the rains' table is cut by %v px", wide)
	}
}

// TestConsoleHead: the head of every page has the time of the last proof of the books (of new books, those of the live
// campaigns). It counts the alarms and links to them. It changes without a reload, and reports a server that does not
// answer.
func TestConsoleHead(t *testing.T) {
	says := map[string][8]string{
		"en": {"Books not checked yet", "✓ Books of live campaigns balance, last check",
			"✓ Books balance, last check", "✗ Books do not balance, last check", "No alarms", "⚠ 2 alarms",
			"Failed payment", "The server does not respond. Earlier data:"},
		"zh": {"尚未对账", "", "✓ 账目相符，最近一次对账", "✗ 账目不平，最近一次对账", "没有告警", "⚠ 2 个告警", "异常款项", ""},
	}
	browsertest.Few(looks{
		{Device: deskDevice, Language: "en-US,en"}, {Device: smallDevice, Language: "zh-CN,zh"},
	}).OnEach(t, func(t *testing.T, o chromium.Options) {
		f, want := newForms(t, "operator"), says[o.Language[:2]]
		at := f.now()
		proof := func(campaign string, at int64, balanced bool) object {
			return object{"campaign": campaign, "proved_at": at, "took_ms": min(at, 3), "balanced": balanced,
				"findings": 0, "difference": 0}
		}
		proved := func(oldest int64, everything object, campaigns ...object) {
			f.setAnswer("GET /reconciliation/proved", reply(http.StatusOK, object{"everything": everything,
				"oldest": oldest, "stale": false, "campaigns": append([]object{}, campaigns...)}))
		}
		var p *browsertest.Page
		head := func(text, class string) {
			t.Helper()
			p.Until(text, `[...document.querySelectorAll(".status a")].some((a) =>
					a.innerText.includes(%q) && a.className === %q && a.checkVisibility())`, text, class)
		}
		never := proof("", 0, false)
		proved(0, never, proof("c1", at, true), proof("c2", 0, false))
		p = f.openConsole(t, o, "#/sponsors")
		p.Says(".status", want[0])
		head(want[4], "")
		proved(at, never, proof("c1", at, true), proof("c2", at, true))
		p.Go("/console?live#/sponsors")
		head(want[1], "")
		proved(at, proof("", at, true))
		p.Go("/console?all#/sponsors")
		head(want[2], "")
		alarm := func(code, campaign string) object {
			return object{"code": code, "campaign": campaign, "message": "what it is about, at length",
				"since": at, "at": at, "times": 3}
		}
		f.setAnswer("GET /alarms", reply(http.StatusOK, object{"items": []object{alarm("dead_letter", "c1"),
			alarm("a_code_of_next_year", "")}}))
		proved(at, proof("", at, false))
		for _, page := range []string{"audit", "nowhere"} {
			p.Go("/console?" + page + "#/" + page)
			head(want[3], "bad")
			head(want[5], "bad")
		}
		p.Press(`.status a[href="#/alarms"]`)
		for _, text := range []string{want[6], "what it is about, at length", "a_code_of_next_year"} {
			p.Says("tbody", text)
		}
		p.State("alarms")
		p.Named("alarms")
		p.NoWider("the alarms")
		f.setAnswer("GET /alarms", reply(http.StatusOK, object{"items": []object{}}))
		head(want[4], "")
		f.setAnswer("GET /reconciliation/proved", reply(http.StatusServiceUnavailable,
			object{"status": 503, "code": "unavailable", "title": "Service Unavailable"}))
		p.Says(".status .bad", want[7])
		p.Forgive()
	})
}

// TestConsoleNamesAnAddressForPhones: if the console is open as localhost, it shows another address for phones.
func TestConsoleNamesAnAddressForPhones(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"join": "http://192.0.2.7:8080/", "guests": true}))
	p := f.openConsole(t, desk(), "#/first/c1")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	code := fmt.Sprintf(`document.querySelector('main .qr[aria-label=%q]')?.checkVisibility() === true`,
		"QR code of the player page: http://192.0.2.7:8080/?campaign=c1")
	p.Until("the code for phones", "%s", code)
	p.State("first")
	p.Until("the way on is shown", `document.querySelector('main a[href="#/new"]') !== null && `+
		`document.querySelector('main a[href="/screen?campaign=c1"]') !== null`)
	p.Go("/console?details#/campaigns/c1/details")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	p.Says("main", "http://192.0.2.7:8080/screen?campaign=c1")
	p.Until("the code for phones", "%s", code)
	p.State("details")
}
