package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

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
