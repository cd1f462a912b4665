package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
)

// TestConsoleOf500Campaigns: the list comes in pages, each on request; of 500 only those that are seen are asked for
// their figures, the keyboard gets to the last, and a word finds one at once. The times are for the log.
func TestConsoleOf500Campaigns(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.ParallelBrowser(t, testenv.Heavy)
	const all, page = 500, 50
	f := newForms(t, "operator")
	f.serve("GET /campaigns", func(r *http.Request, _ []byte) (int, any) {
		items, next := []object{}, ""
		after, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		for i := after + 1; i <= all; i++ {
			c := f.campaign(fmt.Sprint("c", i), object{"name": fmt.Sprint("Gala ", i)})
			if !strings.Contains(c["name"].(string), r.URL.Query().Get("q")) {
				continue
			}
			if len(items) == page {
				next = fmt.Sprint(i - 1)
				break
			}
			items = append(items, c)
		}
		return http.StatusOK, object{"items": items, "next_cursor": next}
	})
	p := f.openConsole(t, desk(), "#/campaigns/c1")
	loaded := func(n int) {
		t.Helper()
		p.Until(fmt.Sprint(n, " are listed"), `document.querySelectorAll(".side li").length === %d`, n)
	}
	loaded(page)
	for n := 2 * page; n <= all; n += page {
		p.PressText("Load more")
		loaded(n)
	}
	p.Until("that is all", `!document.querySelector(".side .end")`)
	asked := browsertest.Eval[int](p, `new Set(performance.getEntriesByType("resource").map((e) => e.name).`+
		`filter((name) => name.endsWith("/stats"))).size`)
	if asked > all/2 {
		t.Errorf("the figures of %d campaigns were asked for, of which few were seen", asked)
	}
	drawn := func(what, act string) {
		t.Helper()
		took := browsertest.Eval[float64](p, `(async () => {
			const began = performance.now();
			await (async () => { %s })();
			await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
			return performance.now() - began;
		})()`, act)
		t.Logf("%s: %.0f ms", what, took)
	}
	drawn("the last of 500 is pressed, to its page", `document.querySelector(".side li:last-child a").click();
		const shown = () => document.querySelector('.side [aria-current="true"]')?.href.endsWith("c500");
		while (!shown()) await new Promise((n) => setTimeout(n, 1));`)
	p.Until("the keyboard is there", `(() => {
		const last = document.querySelector(".side li:last-child a");
		last.focus();
		return document.activeElement === last;
	})()`)
	drawn("a word is typed, to the one that has it (250 ms are the pause)", `
		const find = document.querySelector(".side input");
		find.value = "Gala 499";
		find.dispatchEvent(new Event("input", { bubbles: true }));
		while (document.querySelectorAll(".side li").length !== 1) await new Promise((n) => setTimeout(n, 1));`)
	p.Says(".side li", "Gala 499")
}
