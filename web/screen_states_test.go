package web_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// rests waits until what moves once has come to rest.
func (p *tab) rests() {
	p.t.Helper()
	p.Until("everything rests", `document.getAnimations().every((a) => a.playState === "finished" || `+
		`a.effect.getComputedTiming().iterations === Infinity)`)
}

// state is for a scene that the wall shows: nothing is cut off or scrolls, axe finds nothing, and a picture is kept.
func (p *tab) state(name string) {
	p.t.Helper()
	p.rests()
	for _, fault := range eval[[]string](p, overflowing) {
		p.t.Errorf("%s: %s", name, fault)
	}
	p.State(name)
}

// overflowing are the elements that reach out of the screen.
const overflowing = `(() => {
	const found = [], [w, h] = [innerWidth, innerHeight];
	if (document.scrollingElement.scrollWidth > w || document.scrollingElement.scrollHeight > h)
		found.push("the page scrolls");
	for (const e of document.querySelectorAll("#stage main *")) {
		if (e.closest("svg, #winners, .rays, bdi")) continue; // of a name, what is too long is left out
		const r = e.getBoundingClientRect();
		if (r.width && (r.left < -1 || r.top < -1 || r.right > w + 1 || r.bottom > h + 1))
			found.push(e.tagName + "." + e.className + " reaches out of the screen: " +
				[r.left, r.top, r.right, r.bottom].map(Math.round));
	}
	return found;
})()`

// TestScreenStates shows every scene on walls of all shapes, with names and amounts of all lengths.
func TestScreenStates(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	long := object{"name": "星河集团 2026 年度盛典暨二十周年庆红包雨之夜 Anniversary Gala", "packets": 1000000, "budget": 100000000}
	type wall struct {
		name, language, query string
		about                 object
		width, height         int64
		calm                  bool
	}
	for _, c := range browsertest.Few([]wall{
		{"wall zh", "zh-CN,zh", "", nil, 960, 540, false}, // the same picture as 1920×1080, at a quarter of the work
		{"wall en long", "en-US,en", "", long, 1280, 720, true},
		{"column zh long", "zh-CN,zh", "", long, 540, 960, false},
		{"wide both", "en-US,en", "?lang=both", object{"name": "Spring Gala 2026"}, 1600, 500, true},
	}) {
		t.Run(c.name, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			f := newFake(t)
			f.setAnswer("GET /lobby", reply(http.StatusOK,
				object{"campaign": "c1", "join": "http://192.168.1.20:8080/"}))
			maps.Copy(f.about, c.about)
			p := openScreen(t, f, chromium.Options{
				Language: c.language, Calm: c.calm, Device: chromium.Device{Width: c.width, Height: c.height, Scale: 1},
			}, "/screen"+c.query)
			p.scenes(c.about["packets"] != nil)
		})
	}
}

// apart is the distance of the words below the countdown's number from the event's name, if both are on one line.
const apart = `(() => {
	const [name, words] = [document.querySelector(".countdown .name"), document.querySelector(".countdown .how")];
	if (!words) return 1000;
	const range = document.createRange();
	range.selectNodeContents(words);
	const [a, b] = [name.getBoundingClientRect(), range.getBoundingClientRect()];
	return b.bottom < a.top ? 1000 : b.left - a.right;
})()`

// scenes brings the wall through all that it shows.
func (p *tab) scenes(long bool) {
	f := p.fake
	stock, amount := 3210, 88
	if long {
		stock, amount = 987654, 100000000
	}
	var winners, top []object
	for i := range 10 {
		user := []string{"张*", "g*1a2b", "L*", "王*", "g*77ff"}[i%5]
		winners = append(winners, object{"user": user, "amount": 12 + 37*i})
		top = append(top, object{"user": user, "amount": amount + 1234*(9-i)})
	}
	p.mode("waiting")
	f.push(f.figures(5000, 0, nil))
	p.shows("online", "312")
	p.state("waiting")
	f.setRain(5*time.Minute, 3*time.Second)
	p.Says(".next b", "4:")
	p.state("clock")
	// Numbers do not wait for a picture: on a busy machine it is another number.
	for name, left := range map[string]time.Duration{"two digits": 10 * time.Second, "one digit": 9 * time.Second} {
		f.setRain(left, time.Hour)
		p.passed("countdown")
		p.Shoot(name)
		if apart := eval[float64](p, apart); apart < 8 {
			p.t.Errorf("the countdown's words are %.0f px beside the event's name", apart)
		}
	}
	start := f.setRain(-5*time.Second, time.Hour)
	for n := range 24 {
		at := start + int64(n)*250
		f.wave(n, at, [3]int{(n * 313) % 1000, n % 5 / 4, 5500}, [3]int{(n*313 + 480) % 1000, 0, 5000})
	}
	p.mode("falling")
	f.push(f.figures(stock, 1790, object{"winners": winners[1:], "amount_won": amount * 2}))
	f.push(f.figures(stock, 1790, object{"winners": winners, "amount_won": amount * 2}))
	p.until(f.now() + 600) // packets have come into the picture
	p.state("falling")
	f.phase("paused")
	p.mode("paused")
	p.state("paused")
	f.phase("falling")
	f.push(f.figures(0, 5000, object{"winners": winners, "amount_won": amount * 2}))
	p.shows("stock", "0")
	p.Until("the celebration", `document.querySelector(".gold-plate") !== null`)
	p.state("sold out")
	f.push(f.figures(stock, 1790, object{"top": top, "winners": winners, "amount_won": amount * 2}))
	f.phase("ended")
	p.mode("board")
	p.state("board")
	f.setCampaign(object{"state": "closed"})
	p.state("closed")
	f.setDown(true)
	p.Until("the mark", `document.getElementById("status").hidden === false`)
	p.state("away")
}
