package web_test

import (
	"net/http"
	"testing"

	chromium "redrain/internal/browser"
	"redrain/internal/testenv"
)

// TestConsoleHead: the head of every page says when the books were proved, and what is open; it leads to the alarms,
// each by its name in the person's language, and changes without a reload.
func TestConsoleHead(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	says := map[string]struct{ good, never, bad, alarms, none, kind, means string }{
		"en": {"✓ Books balance, proved last", "The books were not proved yet",
			"✗ The books do not balance, proved last", "⚠ 2 alarms", "No alarm", "Dead letter", "at length"},
		"zh": {"✓ 账目相符，最近一次对账", "还没有对过账", "✗ 账目不符，最近一次对账", "⚠ 2 个警报", "没有警报", "死信", "请看死信页"},
	}
	for _, o := range []chromium.Options{
		{Device: chromium.Device{Name: "small", Width: 320, Height: 640, Scale: 1, Touch: true},
			Language: "zh-CN,zh"},
		{Device: chromium.Device{Name: "phone", Width: 390, Height: 844, Scale: 1, Touch: true},
			Language: "en-US,en", Dark: true},
		{Device: chromium.Device{Name: "desk", Width: 1280, Height: 900, Scale: 1}, Language: "en-US,en"},
	} {
		t.Run(o.Device.Name+"-"+o.Language[:2], func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f, want := newConsole(t), says[o.Language[:2]]
			proof := func(at int64, balanced bool) object {
				return object{"campaign": "", "proved_at": at, "balanced": balanced, "took_ms": 12,
					"findings": []string{}, "difference": 0}
			}
			proved := func(at int64, balanced bool) http.HandlerFunc {
				return reply(http.StatusOK, object{"everything": proof(at, balanced), "full": proof(0, false),
					"oldest": 0, "stale": false, "campaigns": []object{}})
			}
			f.setAnswer("GET /reconciliation/proved", proved(0, false))
			p := f.open(t, o)
			head := func(what, text, class string) {
				t.Helper()
				p.Until(what, `[...document.querySelectorAll(".status a")].some((a) =>
					a.innerText.includes(%q) && a.className === %q && a.checkVisibility())`, text, class)
			}
			head("never proved", want.never, "")
			head("no alarm", want.none, "")
			f.setAnswer("GET /reconciliation/proved", proved(f.now(), true))
			p.Go("/console?again#/campaigns/c1")
			head("proved", want.good, "")

			alarm := func(code, campaign string) object {
				return object{"code": code, "campaign": campaign,
					"message":  "what it is about, at length, as a log has it",
					"first_at": f.now() - 60_000, "at": f.now(), "times": 3}
			}
			f.setAnswer("GET /alarms", reply(http.StatusOK, object{"items": []object{alarm("dead_letter", "c1"),
				alarm("a_code_of_next_year", "")}}))
			f.setAnswer("GET /reconciliation/proved", proved(f.now(), false))
			for _, page := range []string{"campaigns/c1", "audit", "nowhere"} {
				p.Go("/console?" + page + "#/" + page)
				head(page+": not balanced", want.bad, "bad")
				head(page+": alarms", want.alarms, "bad")
			}
			p.Press(`.status a[href="#/alarms"]`)
			p.Says("tbody", want.kind)
			p.Says("tbody", want.means)
			p.Says("tbody tr:first-child", "what it is about, at length, as a log has it")
			p.Says("tbody", "a_code_of_next_year")
			p.State("alarms")
			p.Named("alarms")
			p.NoWider("the alarms")
			f.setAnswer("GET /alarms", reply(http.StatusOK, object{"items": []object{}}))
			head("over, without a reload", want.none, "")
		})
	}
}
