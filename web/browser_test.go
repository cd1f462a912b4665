package web_test

import (
	"testing"

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

// eval is what an expression, or the promise that it is, comes to in the page.
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
