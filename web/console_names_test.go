package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestConsoleNamesAndFits: a player's claims name their campaigns, each asked for until its name is known, and one that
// is gone once; dead withdrawals can be asked for; and all columns of the rains are in sight on a small desk.
func TestConsoleNamesAndFits(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for _, o := range browsertest.Few([]chromium.Options{
		{Device: deskDevice, Language: "zh-CN,zh"},
		{Device: deskDevice, Language: "en-US,en"},
		{Device: smallDevice, Language: "zh-CN,zh"},
		{Device: phoneDevice, Language: "en-US,en"},
	}) {
		t.Run(o.Device.Name+"-"+o.Language[:2], func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := newForms(t, "operator")
			asked := map[string]int{}
			name := func(id, is string) {
				f.serve("GET /campaigns/"+id, func(*http.Request, []byte) (int, any) {
					asked[id]++
					rains := []object{f.rainFrom(f.now()-90_000, "ended"), f.rainFrom(f.now()-80_000, "ended")}
					rains[1]["id"] = "r2"
					return http.StatusOK, f.readyCampaign(id, object{"name": is, "rains": rains})
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
				claims = append(claims, object{"claim": fmt.Sprint(id, "-", i), "user": "u1", "packet": i,
					"amount": 120, "at": f.now(), "state": "settled"})
			}
			get := func(path string, body any) { f.serve("GET "+path, always(body)) }
			get("/users/u1", object{"user": "u1", "balance": 480})
			get("/users/u1/claims", object{"items": claims})
			get("/users/u1/withdrawals", object{"items": []object{}})
			get("/users/u1/held", object{"items": []object{}})
			get("/risk/held", object{"items": []object{}})
			f.serve("GET /withdrawals", func(r *http.Request, _ []byte) (int, any) {
				items := []object{}
				if r.URL.Query().Get("state") == "dead" {
					items = append(items, object{"withdrawal": "w1", "user": "u1", "amount": 500, "state": "pending",
						"stage": "sent", "dead": true, "created_at": f.now(), "attempts": 10, "last_error": "timeout"})
				}
				return http.StatusOK, object{"items": items}
			})
			p := f.openConsole(t, o, "#/users/u1")
			p.Says("table", "年会红包雨 2026")
			p.Until("what has no name", `[...document.querySelectorAll("td a.mono")].map((a) => a.textContent).join()
				.includes("c8,c9")`)
			p.Go("/console#/withdrawals")
			p.Until("the filter", `!!document.querySelector("[name=state]")`)
			choose(p, "[name=state]", "dead")
			p.Says("tbody", "timeout")
			p.Shoot("dead")
			p.Go("/console#/users/u1")
			p.Says("table", "Spring gala")
			p.Shoot("claims")
			get("/users", object{"items": []object{{"user": "u1", "balance": 480}}})
			get("/bans", object{"items": []object{}})
			p.Go("/console#/users")
			p.Says("table", "u1")
			p.State("find")
			p.NoWider("find")
			const apart = `document.querySelector("[name=user]").getBoundingClientRect().top -
				document.querySelector("form button").getBoundingClientRect().top`
			if lines := browsertest.Eval[float64](p, apart); lines*lines > 4 {
				t.Errorf("the button is %v px below its field", -lines)
			}
			f.mu.Lock()
			if fmt.Sprint(asked) != "map[c7:1 c8:1 c9:1]" {
				t.Errorf("campaigns were asked for: %v, and c8 once in vain", asked)
			}
			f.mu.Unlock()
			p.Go("/console#/campaigns/c7/rains")
			p.Until("the rains", `document.querySelectorAll("tbody tr").length === 2`)
			p.Shoot("rains")
			const over = `(() => {
				const s = document.querySelector(".scroll");
				return s.scrollWidth - s.clientWidth;
			})()`
			if wide := browsertest.Eval[float64](p, over); wide > 0 && o.Device.Width >= 1280 {
				t.Errorf("the rains' table is cut by %v px", wide)
			}
		})
	}
}
