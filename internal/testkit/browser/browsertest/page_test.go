package browsertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// serve serves one page, without a picture that browsers would ask for.
func serve(t *testing.T, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,">
			<meta name="viewport" content="width=device-width, initial-scale=1"></head>
			<body><main><h1>A page</h1>%s</main></body></html>`, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// everyKind is forgiven by the tests that make faults.
var everyKind = []browser.Kind{browser.Console, browser.Exception, browser.Log, browser.Network, browser.Foreign}

func TestFaultsAreSeen(t *testing.T) {
	t.Parallel()
	home := serve(t, `<script>
		console.warn("a warning");
		setTimeout(() => { throw new Error("nobody catches me"); });
		Promise.reject(new Error("nor me"));
		fetch("/missing");
		fetch("http://127.0.0.2:9/elsewhere").catch(() => {});
		try { new WebSocket("ws://127.0.0.3:9/socket"); } catch {}
	</script>`)
	p := browsertest.Open(t, browser.Options{Home: home}, everyKind...)
	p.Go("/")
	for _, want := range []browser.Fault{
		{Kind: browser.Console, Text: "warning \"a warning\""}, {Kind: browser.Exception, Text: "nobody catches me"},
		{Kind: browser.Exception, Text: "nor me"},
		{Kind: browser.Network, Text: home + "/missing"}, {Kind: browser.Foreign, Text: "http://127.0.0.2:9/elsewhere"},
		{Kind: browser.Foreign, Text: "ws://127.0.0.3:9/socket"},
	} {
		testenv.Eventually(t, browser.Patience, "the fault "+want.String(), func() bool {
			return slices.ContainsFunc(p.Faults(), func(f browser.Fault) bool {
				return f.Kind == want.Kind &&
					strings.Contains(f.Text, want.Text)
			})
		})
	}
	p.Forgive()
	if left := p.Faults(); len(left) > 0 {
		t.Errorf("after Forgive: %v", left)
	}
}

func TestFingersAndMouse(t *testing.T) {
	t.Parallel()
	home := serve(t, `<button id="b">press</button><button id="later" disabled>later</button><script>
		globalThis.seen = [];
		document.addEventListener("pointerdown", (e) => {
			seen.push([e.pointerType, e.target.id, Math.round(e.clientX), Math.round(e.clientY)].join(" "));
		});
		b.addEventListener("click", () => setTimeout(() => { later.disabled = false; }, 200));
	</script>`)
	phone := browsertest.Open(t, browser.Options{Home: home, Device: browser.SmallPhone})
	phone.Go("/")
	phone.Until("the page has the phone's scale", `innerWidth === 320 && visualViewport.scale === 1`)
	phone.Touch(browser.Point{X: 50, Y: 300}, browser.Point{X: 150, Y: 400})
	if got := browsertest.Eval[[]string](phone, "seen"); !slices.Equal(got,
		[]string{"touch  50 300", "touch  150 400"}) {
		t.Errorf("two fingers: %q", got)
	}
	phone.Press("#b")
	phone.Press("#later") // waits until it may be pressed
	const what = `seen.map((s) => s.split(" ").slice(0, 2).join(" "))`
	if got := browsertest.Eval[[]string](phone, what)[2:]; !slices.Equal(got, []string{"touch b", "touch later"}) {
		t.Errorf("buttons under a finger: %q", got)
	}
	desk := browsertest.Open(t, browser.Options{Home: home})
	desk.Go("/")
	desk.Point(browser.Point{X: 50, Y: 300})
	desk.PressTwice("#b")
	if got := browsertest.Eval[[]string](desk, what); !slices.Equal(got, []string{"mouse ", "mouse b", "mouse b"}) {
		t.Errorf("a mouse: %q", got)
	}
}

// The page changes between the moment when a person has aimed at a button and the press. The press that would miss is
// kept from the page.
func TestAPressThatMissesIsAimedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		aims   int
	}{
		"what is above it goes":           {`above.remove()`, 2},
		"another one has taken its place": {`document.getElementById("b").replaceWith(button())`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := serve(t, `<p id="above" style="height:200px">above</p><script>
				globalThis.pressed = 0;
				globalThis.missed = 0;
				addEventListener("pointerdown", (e) => { if (e.target.id !== "b") missed++; });
				let looks = 0;
				function button() {
					const b = document.createElement("button");
					b.id = "b";
					b.textContent = "press";
					b.addEventListener("click", () => { pressed++; });
					const measure = b.getBoundingClientRect.bind(b);
					b.getBoundingClientRect = () => {
						const place = measure();
						if (++looks === 2) queueMicrotask(() => { `+test.change+`; });
						return place;
					};
					return b;
				}
				document.querySelector("main").append(button());
			</script>`)
			for _, device := range []browser.Device{browser.SmallPhone, browser.Desktop} {
				p := browsertest.Open(t, browser.Options{Home: home, Device: device})
				p.Go("/")
				p.Until("the page has the device's scale", `innerWidth === %d && visualViewport.scale === 1`,
					device.Width)
				p.Press("#b")
				p.Until("the button has been pressed", `pressed > 0`)
				got := browsertest.Eval[[]int](p, `[looks / 2, missed, pressed]`)
				if !slices.Equal(got, []int{test.aims, 0, 1}) {
					t.Errorf("%s: aimed, missed and pressed %v times, want %d, never and once", device.Name, got,
						test.aims)
				}
			}
		})
	}
}

// Both halves of a double press arrive, unless the first one removes the button. The element below it is not pressed.
func TestADoublePressHitsNothingElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		want   []int // presses of the button, and of the element below
	}{
		"the button stays": {``, []int{2, 0}},
		"the button goes":  {`b.remove()`, []int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := serve(t, `<div id="below" style="position:fixed;inset:0"></div>
				<button id="b" style="position:fixed;left:50px;top:50px">press</button><script>
				globalThis.pressed = [0, 0];
				b.addEventListener("click", () => { pressed[0]++; `+test.change+`; });
				below.addEventListener("click", () => { pressed[1]++; });
				below.addEventListener("pointerdown", () => { pressed[1]++; });
			</script>`)
			for _, device := range []browser.Device{browser.SmallPhone, browser.Desktop} {
				p := browsertest.Open(t, browser.Options{Home: home, Device: device})
				p.Go("/")
				p.PressTwice("#b")
				p.Until("the presses have been heard", `pressed[0] >= %d`, test.want[0])
				if got := browsertest.Eval[[]int](p, `pressed`); !slices.Equal(got, test.want) {
					t.Errorf("%s: pressed %v, want %v", device.Name, got, test.want)
				}
				browsertest.Eval[bool](p, `(pressed = [0, 0], true)`)
				if p.Point(browser.Point{X: 10, Y: 300}); browsertest.Eval[int](p, `pressed[1]`) == 0 {
					t.Errorf("%s: a press after it is kept from the page", device.Name)
				}
			}
		})
	}
}

func TestAxeFindsFaults(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, browser.Options{Home: serve(t,
		`<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="><p style="color:#aaa">faint</p>`)})
	p.Go("/")
	found := testenv.Got(p.Page.Axe()).Must(t)
	var rules []string
	for _, v := range found {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	if !slices.Equal(rules, []string{"color-contrast", "image-alt"}) {
		t.Errorf("axe found %v", found)
	}
}

func TestDevicesAndLanguages(t *testing.T) {
	t.Parallel()
	home := serve(t, "")
	p := browsertest.Open(t, browser.Options{
		Home: home, Device: browser.LargePhone, Language: "zh-CN,zh", Calm: true, Dark: true,
		Scripts: []string{"globalThis.before = 1"},
	})
	p.Go("/")
	const about = `[innerWidth, innerHeight, devicePixelRatio, navigator.language, navigator.maxTouchPoints > 1, before,
		matchMedia("(prefers-reduced-motion: reduce)").matches, matchMedia("(prefers-color-scheme: dark)").matches,
		document.hasFocus(), document.visibilityState].join()`
	if got := browsertest.Eval[string](p, about); got != "430,932,3,zh-CN,true,1,true,true,true,visible" {
		t.Errorf("the page is on %s", got)
	}
	other := browsertest.Open(t, browser.Options{Home: home})
	other.Go("/")
	const plain = `[innerWidth, innerHeight, devicePixelRatio, navigator.language, navigator.maxTouchPoints,
		"before" in globalThis].join()`
	if got := browsertest.Eval[string](other, plain); got != "1280,800,1,en-US,0,false" {
		t.Errorf("another page is on %s", got)
	}
	p.Offline(true)
	if browsertest.Eval[bool](p, `navigator.onLine || fetch("/").then(() => true, () => false)`) {
		t.Error("offline, and yet the server answers")
	}
	p.Offline(false)
	if !browsertest.Eval[bool](p, `fetch("/").then((r) => r.ok)`) {
		t.Error("online again, and the server does not answer")
	}
	p.Forgive()
}

// TestHoldings counts the objects that a page keeps, and not the ones that it has released.
func TestHoldings(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, browser.Options{Home: serve(t, "")})
	p.Go("/")
	before := p.Holdings()
	const thousand = `{
		const kept = [];
		for (let i = 0; i < 1000; i++) {
			const e = document.createElement("p");
			e.addEventListener("click", () => i);
			kept.push(e);
		}
		%s;
		true }`
	browsertest.Eval[bool](p, thousand, "globalThis.kept = kept")
	with := p.Holdings()
	if with.Nodes < before.Nodes+1000 || with.Listeners < before.Listeners+1000 || with.Heap < before.Heap+8_000 {
		t.Errorf("a thousand elements with listeners: from %+v to %+v", before, with)
	}
	browsertest.Eval[bool](p, "delete globalThis.kept")
	browsertest.Eval[bool](p, thousand, "0")
	if after := p.Holdings(); after.Nodes > before.Nodes+10 || after.Listeners > before.Listeners+10 {
		t.Errorf("let go: from %+v to %+v", before, after)
	}
}
