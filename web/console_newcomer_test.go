package web_test

import (
	"net/http"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestConsoleHead: the head of every page says when the books were proved (of new books those of the live campaigns),
// and counts the alarms, which it leads to. It changes without a reload, and says so if the server does not answer.
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
				"first_at": at, "at": at, "times": 3}
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

// TestConsoleNamesAnAddressForPhones: who has opened the console as localhost is not told to send that to a phone.
func TestConsoleNamesAnAddressForPhones(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newForms(t, "operator")
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"join": "http://192.0.2.7:8080/", "guests": true}))
	p := f.openConsole(t, desk(), "#/first/c1")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	p.Until("the way on is shown", `document.querySelector('main a[href="#/new"]') !== null && `+
		`document.querySelector('main a[href="/screen?campaign=c1"]') !== null`)
	p.Go("/console?details#/campaigns/c1/details")
	p.Says("main", "http://192.0.2.7:8080/?campaign=c1")
	p.Says("main", "http://192.0.2.7:8080/screen?campaign=c1")
}
