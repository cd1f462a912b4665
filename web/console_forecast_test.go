package web_test

import (
	"maps"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestConsoleForecastsARain: before a rain is started, the dialog names the money that would stay. A button changes the
// rain. A rule of the campaign cannot be changed any more, so a link leads to a copy with another one.
func TestConsoleForecastsARain(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	maps.Copy(f.campaign, object{"packets": 600, "budget": 88_800, "wins_per_user": 100})
	maps.Copy(f.stats, object{"online": 4, "won": 0, "stock": 600, "amount_left": 88_800})
	p := f.open(t, chromium.Options{Device: phoneDevice, Language: "zh-CN,zh"})
	p.PressText("开始红包雨…")
	p.Says("dialog .preview", "4 位玩家 × 80 个：600 个中最多抢走 320 个，约剩 ¥414。")
	p.State("phone")
	p.NoWider("the dialog")
	p = f.open(t, chromium.Options{Device: deskDevice})
	p.PressText("Start a rain…")
	p.Says("dialog .preview", "4 players × 80 wins: at most 320 of 600; about ¥414 would stay.")
	p.State("short")
	p.PressText("Extend to 13 s")
	p.Says("dialog .preview", "4 players × 100 wins: at most 400 of 600; about ¥296 would stay.")
	testenv.Equal(t, browsertest.Eval[string](p, `document.querySelector("dialog [name=duration_ms]").value`), "13",
		"the duration after the button is")
	f.set(func() { f.stats["online"] = 0 })
	p.Says("dialog .preview", "No player is online now. At 100 wins each, it takes 6 players to win all 600.")
	f.set(func() { f.stats["online"] = 12 })
	p.Says("dialog .preview", "12 players × 100 wins: enough for all 600.")
	f.set(func() { f.change(object{"wins_per_user": 20}) })
	p.Says("dialog .preview", "12 players × 20 wins: at most 240 of 600; about ¥533 would stay.")
	p.Says("dialog .preview", "The limit of 20 wins per player cannot be changed.")
	p.State("fixed")
	f.set(func() { f.stats["stock"] = 0 })
	p.Says("dialog .preview", "All packets are gone")
	f.set(func() { f.stats["stock"] = 600; f.change(object{"expires_at": f.now() + 15_000}) })
	p.Says("dialog .preview", "before this rain ends")
	p.PressText("Copy the campaign with 50 per player…")
	p.Says("h1", "Copy campaign")
	testenv.Equal(t, browsertest.Eval[string](p, `document.querySelector(".create [name=wins_per_user]").value`), "50",
		"the copy's wins per player are")
}

// TestConsoleSaysSoldOut: a campaign without packets is sold out, in the list and on its page, since the second of the
// last win.
func TestConsoleSaysSoldOut(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newConsole(t)
	start := f.now() - 60_000
	kept := historyOf(start)
	stock := kept["stock"].([]any)
	for i := 20; i < len(stock); i++ {
		stock[i] = 0
	}
	f.serve("GET /campaigns/c1/history", always(kept))
	rained := f.rainFrom(start, "ended")
	rained["ends_at"] = start + 34_000
	f.campaign["rains"] = []object{rained}
	f.stats["stock"], f.stats["won"], f.stats["amount_left"] = 0, 5_000, 0
	for _, o := range []chromium.Options{{Device: deskDevice}, {Device: phoneDevice, Language: "zh-CN,zh"}} {
		word, since := "sold out", "since "
		if o.Language != "" {
			word, since = "已抢完", " 抢完"
		}
		p := f.open(t, o)
		p.Says(".head .title", word)
		p.Says(".head .title", since)
		p.State("page")
		if o.Language == "" {
			p.Says(".side li", word)
			p.Says(".side li", since)
		}
		p.Go("/console?list#/campaigns")
		p.Says(".side li", word)
		p.State("list")
	}
}

// TestConsoleToastsCoverNothing: under each point of a toast there is nothing of the page's content.
func TestConsoleToastsCoverNothing(t *testing.T) {
	browserFrom(t, testenv.All)
	for _, d := range []chromium.Device{deskDevice, phoneDevice} {
		f := newConsole(t)
		p := f.open(t, chromium.Options{Device: d})
		p.Says("h1", "Gala 2026")
		browsertest.Eval[bool](p, `(location.hash = "token=wrong", true)`)
		p.Says(".toast.bad", "Invalid token.") // one that stays
		p.State("toast-" + d.Name)
		covered := browsertest.Eval[[]string](p, `(({ x, y, width, height }) => {
			const found = new Set();
			for (let i = 1; i < 40; i++) for (let k = 1; k < 8; k++) {
				for (const e of document.elementsFromPoint(x + (width * i) / 40, y + (height * k) / 8)) {
					if (e.closest("main, .bar, .status")) found.add(e.outerHTML.slice(0, 80));
				}
			}
			return [...found];
		})(document.querySelector(".toast").getBoundingClientRect())`)
		y := browsertest.Eval[float64](p, `document.querySelector(".toast").getBoundingClientRect().y`)
		if y < 30 || y > 180 {
			t.Errorf("the toast on a %s is at %v px, not under the head", d.Name, y)
		}
		testenv.Equal(t, len(covered), 0, "elements under the toast on a %s: %q", d.Name, covered)
	}
}
