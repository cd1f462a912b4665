package web_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
	"redrain/internal/testenv/testrun"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// patience is for a browser on a machine that has other work.
const patience = chromium.Patience

// tab is a page of a fake server.
type tab struct {
	*browsertest.Page
	t    *testing.T
	fake *fakeServer
}

// openPage opens a page of a fake server. At the end of the test the page must have had no fault; but requests that
// were refused or broke are the tests' own doing.
func openPage(t *testing.T, f *fakeServer, path string, width, height int64) *tab {
	t.Helper()
	device := chromium.Device{Width: width, Height: height, Scale: 1}
	o := chromium.Options{Device: device, Scripts: []string{rememberModes}}
	p := openTab(t, f, o, chromium.Network)
	t.Cleanup(func() { p.Shoot("end") })
	p.Go(path)
	return p
}

// openTab opens a browser for pages of a fake server, which is the home of the options.
func openTab(t *testing.T, f *fakeServer, o chromium.Options, forgiven ...chromium.Kind) *tab {
	t.Helper()
	o.Home = f.URL
	return &tab{Page: browsertest.Open(t, o, forgiven...), t: t, fake: f}
}

// browserFrom waits until a test of a tier may use a browser.
func browserFrom(t *testing.T, tier testrun.Tier) {
	t.Helper()
	testenv.RunsFrom(t, tier)
	testenv.ParallelBrowser(t, testenv.Heavy)
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	testenv.Must(p.t, p.Do(patience, steps...))
}

// eval returns the value of an expression in the page, or of the promise that it is.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	return browsertest.Eval[T](p.Page, expression)
}

func (p *tab) text(id string) string {
	p.t.Helper()
	// A page that is being loaded again has no elements for a moment.
	return eval[string](p, `document.getElementById("`+id+`")?.textContent ?? ""`)
}

// shows waits until an element has a text.
func (p *tab) shows(id, text string) {
	p.t.Helper()
	p.Until("#"+id+" shows "+text, `document.getElementById(%q)?.textContent === %q`, id, text)
}

func (p *tab) hidden(id string) bool {
	p.t.Helper()
	return eval[bool](p, `document.getElementById("`+id+`").hidden`)
}

func (p *tab) mode(want string) {
	p.t.Helper()
	p.Until("the page is "+want, `document.body?.dataset.mode === %q`, want)
}

// rememberModes keeps every mode that a page has been in.
const rememberModes = `window.modes = new Set();
new MutationObserver(() => modes.add(document.body?.dataset.mode))
	.observe(document, { attributes: true, attributeFilter: ["data-mode"], childList: true, subtree: true });`

// passed waits until the page has been in a mode that does not last: a busy machine may look too late to see it.
func (p *tab) passed(mode string) {
	p.t.Helper()
	p.Until("the page has been "+mode, `modes.has(%q)`, mode)
}

func TestMain(m *testing.M) {
	testenv.SideBySide()
	testenv.Main(m)
}

var soakFor = flag.Duration("soak", 0, "how long TestPageSoak plays; 0: three minutes with -nightly, else not at all")

const (
	soakSlower = 4    // times slower than this machine is the phone
	soakAir    = 60   // packets in the air
	soakFall   = 4000 // ms for each
	soakFrame  = 8.0  // ms of script that a frame may take
	soakWork   = 4.0  // ms that the reference work takes on the phone
	// A win is kept, so that it counts once and can be shown: it may cost the heap this much, in bytes.
	soakWin = 1_500
	// Compiled code and pools grow for a while without being anybody's leak.
	soakHeap = 400_000
)

// TestPageSoak: a slow phone plays a long rain, with 60 packets in the air and a win every second. After a garbage
// collection the page has kept nothing but the wins.
//
// With -soak the scripts of a frame (p95) take at most 8 ms in 19 of 20 looks. They are compared with reference work,
// so the speed of the machine does not count. But the wall clock does, so the machine must have nothing else to do:
//
//	go test ./web -run TestPageSoak -v -soak 10m -timeout 0
func TestPageSoak(t *testing.T) {
	lasts := *soakFor
	if lasts == 0 {
		testenv.RunsFrom(t, testenv.Nightly)
		lasts = 3 * time.Minute
	}
	testenv.ParallelBrowser(t, testenv.Alone)
	f := newFake(t)
	f.about["wins_per_user"] = 1_000_000
	p := openTab(t, f, chromium.Options{Device: chromium.LargePhone})
	p.goIn("/?debug&campaign=c1")
	start := f.setRain(-time.Second, lasts+time.Hour)
	p.mode("falling")
	testenv.Must(t, p.Throttle(soakSlower))
	p.soak(start, lasts)
}

// soak plays the rain that has begun at start (ms), and looks at the page's figures each second.
func (p *tab) soak(start int64, lasts time.Duration) {
	t, f := p.t, p.fake
	t.Helper()
	wins := 0
	f.setJudge(func(string) object { wins++; return f.won(wins, 88) })
	type figures struct {
		Frames, Drops int
		P95, At       float64
	}
	eval[bool](p, soakReference)
	var frames, work, rates []float64
	var before figures
	var early, late chromium.Holdings
	var earlyWins, drops int
	seconds := int(lasts.Seconds())
	for second := range seconds {
		// Waves are announced ahead of time, as the server does.
		at := start + int64(second+2)*1000
		for part := range 5 { // a wave each 200 ms
			var wave [][3]int
			for k := range soakAir * 1000 / soakFall / 5 {
				wave = append(wave, [3]int{(second*617 + part*193 + k*331) % 1000, (k + 1) / 3 * (part % 2), soakFall})
			}
			f.wave(second*5+part, at+1000+int64(part)*200, wave...)
		}
		p.until(at)
		p.heardOne()
		f.settle()
		f.push(f.figures(5000-second%5000, second, object{"winners": []object{{"user": "张*", "amount": 88 + second}}}))
		now := eval[figures](p, "({ ...redrain.stats(), at: performance.now() })")
		if second > soakFall/1000 {
			frames, drops = append(frames, now.P95), drops+now.Drops
			work = append(work, eval[float64](p, "reference()"))
			rates = append(rates, float64(now.Frames-before.Frames)*1000/(now.At-before.At))
		}
		before = now
		if second == seconds/5 {
			early, earlyWins = p.Holdings(), wins
		}
	}
	late = p.Holdings()
	sorted, reference := slices.Sorted(slices.Values(frames)), slices.Sorted(slices.Values(work))[len(work)/2]
	most := sorted[len(sorted)*95/100] * soakWork / reference
	t.Logf("%d looks, %d packets in the air, %d wins: scripts of a frame (p95) %.1f ms at the median, %.1f in 19 of "+
		"20, %.1f at most; reference work %.1f ms: on the phone %.1f in 19 of 20", len(frames), drops/len(frames), wins,
		sorted[len(sorted)/2], sorted[len(sorted)*95/100], sorted[len(sorted)-1], reference, most)
	slices.Sort(rates)
	t.Logf("%.1f frames a second at the median, %.1f in 19 of 20 looks", rates[len(rates)/2], rates[len(rates)/20])
	t.Logf("after %d wins %+v, at the end %+v", earlyWins, early, late)
	if *soakFor > 0 && most > soakFrame {
		t.Errorf("scripts take %.1f ms of a frame, want at most %v", most, soakFrame)
	}
	if wins < seconds*9/10 || drops/len(frames) < soakAir*8/10 {
		t.Errorf("%d wins in %d seconds with %d packets in the air: the measured load is not the rain", wins, seconds,
			drops/len(frames))
	}
	if grown := late.Heap - early.Heap; grown > soakHeap+float64((wins-earlyWins)*soakWin) {
		t.Errorf("the heap has grown by %.0f bytes over %d wins", grown, wins-earlyWins)
	}
	if late.Nodes > early.Nodes+20 || late.Listeners > early.Listeners {
		t.Errorf("nodes and listeners have grown: %+v to %+v", early, late)
	}
}

// soakReference makes the reference work, and has it compiled: arithmetic, and objects that are made and thrown away.
const soakReference = `(() => {
	let sum = 0;
	globalThis.reference = () => {
		const began = performance.now();
		for (let i = 0; i < 16_000; i++) {
			const p = { x: Math.sin(i), y: Math.cos(sum) };
			sum += p.x * p.y;
		}
		return performance.now() - began;
	};
	for (let i = 0; i < 200; i++) reference();
	return true;
})()`
