package web_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/web/bundle"
)

// newer are the features that browsers got after the versions of bundle.Phones, as far as a page like ours could use
// them.
var newer = []string{
	"AbortSignal.timeout", "AbortSignal.prototype.throwIfAborted", "AbortSignal.prototype.reason",
	"CanvasRenderingContext2D.prototype.roundRect", "dialog", "reportError", "signals of listeners",
	"Array.prototype.at", "Array.prototype.findLast", "Object.hasOwn", "64-bit numbers of DataView",
	"crypto.randomUUID", "structuredClone", "Navigator.prototype.userActivation", "Navigator.prototype.vibrate",
	"Intl.Segmenter", "Navigator.prototype.wakeLock", "Navigator.prototype.share", "Navigator.prototype.canShare",
	"AbortSignal.any", "Array.fromAsync", "Array.prototype.findLastIndex", "Array.prototype.toReversed",
	"Array.prototype.toSorted", "Array.prototype.toSpliced", "Array.prototype.with", "BroadcastChannel", "Iterator",
	"CanvasRenderingContext2D.prototype.createConicGradient", "CanvasRenderingContext2D.prototype.filter",
	"CanvasRenderingContext2D.prototype.letterSpacing", "CanvasRenderingContext2D.prototype.reset",
	"CompressionStream", "Document.prototype.startViewTransition", "Element.prototype.setHTMLUnsafe",
	"HTMLElement.prototype.inert", "HTMLElement.prototype.popover", "HTMLElement.prototype.showPopover",
	"Map.groupBy", "Navigator.prototype.connection", "Navigator.prototype.locks",
	"Object.groupBy", "OffscreenCanvas",
	"Promise.try", "Promise.withResolvers", "RegExp.escape", "Set.prototype.union", "String.prototype.at",
	"String.prototype.isWellFormed", "URL.canParse", "URL.parse", "URLPattern", "URLSearchParams.prototype.size",
	"Uint8Array.fromHex", "Uint8Array.prototype.toHex", "Uint8Array.prototype.at", "crypto.subtle", "navigation",
	"requestIdleCallback", "scheduler", "visualViewport",
}

// without takes what ?without= names away before the page's own scripts run.
const without = `(() => {
	const special = {
		dialog: () => {
			for (const name of ["showModal", "show", "close", "open"]) delete HTMLDialogElement.prototype[name];
			delete globalThis.HTMLDialogElement;
		},
		"64-bit numbers of DataView": () => {
			for (const type of ["Uint64", "Int64"]) {
				for (const does of ["get", "set"]) delete DataView.prototype[does + "Big" + type];
			}
		},
		// What the tests themselves listen to, they capture.
		"signals of listeners": () => {
			const add = EventTarget.prototype.addEventListener;
			EventTarget.prototype.addEventListener = function (type, fn, o) {
				add.call(this, type, fn, o?.signal && !o.capture ? { ...o, signal: undefined } : o);
			};
		},
	};
	for (const path of (new URLSearchParams(location.search).get("without") ?? "").split(",").filter(Boolean)) {
		if (special[path]) { special[path](); continue; }
		const names = path.split("."), last = names.pop();
		const owner = names.reduce((at, name) => at?.[name], globalThis);
		for (let at = owner; at; at = Object.getPrototypeOf(at)) {
			if (Object.hasOwn?.(at, last) ?? Object.getOwnPropertyDescriptor(at, last)) delete at[last];
		}
	}
})()`

// TestEveryPhone plays the rain to a win in a browser that has learnt nothing since those that the README names. The
// packets must be on the canvas, not only in the air.
func TestEveryPhone(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	p := openWithout(t, chromium.SmallPhone)
	f := p.fake
	f.judge = func(string) object { return f.won(1, 88) }
	p.goIn("/?campaign=c1&without=" + strings.ReplaceAll(strings.Join(newer, ","), " ", "+"))
	start := p.rains([3]int{500, 0, slowly})
	p.Until("a packet is seen", painted)
	p.hitDrop(0, start, 500)
	p.shows("announce", "You won 0.88 yuan, packet 1 of up to 3")
	p.ends()
	p.shows("card-amount", "¥0.88")
	p.Settle()
	p.ShootAs("phones-card")
	p.Press("#card-mine")
	p.Says("#sheet-list .amount", "+0.88")
	p.Settle() // the button that closes it comes up with it
	p.ShootAs("phones-sheet")
	p.Axe("phones-sheet")
	p.Press("#sheet-close")
	p.Until("the page and its history again", `!document.getElementById("sheet").open && !history.state?.dialog`)
}

// painted reports whether anything is on the canvas.
const painted = `(() => {
	const canvas = document.getElementById("rain");
	const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
	const c = copy.getContext("2d", { willReadFrequently: true });
	c.drawImage(canvas, 0, 0);
	const { data } = c.getImageData(0, 0, copy.width, copy.height);
	for (let i = 3; i < data.length; i += 4) if (data[i] > 200) return true;
	return false;
})()`

func openWithout(t *testing.T, d chromium.Device) *tab {
	t.Helper()
	f := newFake(t)
	o := chromium.Options{Device: d, Scripts: []string{without}}
	return openTab(t, f, o, chromium.Network)
}

// TestTooOld: a browser that lacks a needed feature shows only a notice, in both languages. The same happens if it
// cannot even parse the page's script.
func TestTooOld(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	p := openWithout(t, chromium.SmallPhone)
	old := func(p *tab, why string) {
		t.Helper()
		p.Until("the page for old browsers: "+why,
			`[...document.body.children].every((e) => (e.id === "old") === e.checkVisibility())`)
		if says := p.text("old"); !strings.Contains(says, "浏览器版本太旧") ||
			!strings.Contains(says, "This browser is too old") {
			t.Errorf("without %s the page says %q", why, says)
		}
		p.Forgive()
	}
	for _, page := range []string{"/", "/screen", "/console"} {
		html := bodyOf(t, get(t, page))
		needs := regexp.MustCompile(`data-needs="([^"]+)"`).FindStringSubmatch(html)
		if needs == nil {
			t.Fatalf("%s names nothing that it needs", page)
		}
		for need := range strings.FieldsSeq(needs[1]) {
			if need == "Promise" || need == "BigInt" || need == "URLSearchParams" { // the test itself asks for them
				continue
			}
			p.Go(page + "?without=" + need)
			old(p, need)
		}
		p.Go(page + "?without=HTMLScriptElement.prototype.noModule")
		old(p, "modules")
		p.ShootAs("old" + strings.ReplaceAll(page, "/", "-"))
		p.Axe("old" + page)
	}
	unread := openWithout(t, chromium.SmallPhone)
	pages := unread.fake.pages
	unread.fake.pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/play-") && strings.HasSuffix(r.URL.Path, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte("syntax of = a later year"))
			return
		}
		pages.ServeHTTP(w, r)
	})
	unread.Go("/")
	old(unread, "its syntax")
}

// TestBrowsersAreNamed: the README and the pages name the versions that the scripts are made for.
func TestBrowsersAreNamed(t *testing.T) {
	readme := testenv.Got(os.ReadFile("../README.md")).Must(t)
	for about, b := range map[string]bundle.Browsers{"player": bundle.Phones, "console": bundle.Desks} {
		line := fmt.Sprintf("iOS %s, Safari %s, Chrome and Android's WebView %s, Firefox %s", b.IOS, b.Safari, b.Chrome,
			b.Firefox)
		if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), line) {
			t.Errorf("the README does not say of the %s's page: %s", about, line)
		}
	}
	pages := map[string]bundle.Browsers{"/": bundle.Phones, "/screen": bundle.Desks, "/console": bundle.Desks}
	for page, b := range pages {
		first := "iOS " + b.IOS + " · Android / Chrome " + b.Chrome
		if b == bundle.Desks {
			first = "Safari " + b.Safari + " · Chrome " + b.Chrome
		}
		if line := first + " · Firefox " + b.Firefox; !strings.Contains(bodyOf(t, get(t, page)), line) {
			t.Errorf("%s does not say %s", page, line)
		}
	}
}
