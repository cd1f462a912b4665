package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
)

// Page is a page of a test. Its methods are called from the test's goroutine.
type Page struct {
	*browser.Page
	T *testing.T
	// Looked is called by Look for each device, with the name of the state on it; nil: no further check.
	Looked func(name string)

	forgiven []browser.Kind
}

// shared is the test binary's Chromium.
var shared struct {
	mu sync.Mutex
	b  *browser.Browser
}

func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	path := testenv.Chromium(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.b == nil {
		b := testenv.Got(browser.Start(path, testenv.SharedDir(t, "chromium"))).Must(t)
		shared.b = b
		testenv.AtEnd(func() error {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			shared.b.Close()
			shared.b = nil
			return nil
		})
	}
	return shared.b
}

// Open opens an empty page. At the end of the test it is closed, and must have had no fault but of the forgiven
// kinds. The package's TestMain has to call [testenv.Main].
func Open(t *testing.T, o browser.Options, forgiven ...browser.Kind) *Page {
	t.Helper()
	inner := testenv.Got(chromium(t).Open(o)).Must(t)
	p := &Page{Page: inner, T: t, forgiven: forgiven}
	t.Cleanup(func() {
		if t.Failed() {
			p.Shoot("failed")
		}
		p.CheckFaults()
		p.Close()
	})
	return p
}

// Go opens an address, and waits until it is loaded. A path is relative to the page's home.
func (p *Page) Go(address string) {
	p.T.Helper()
	p.check(p.Page.Go(address))
}

// CheckFaults fails the test for each fault that the page has had, and forgets them.
func (p *Page) CheckFaults() {
	p.T.Helper()
	for _, f := range p.Faults() {
		if !slices.Contains(p.forgiven, f.Kind) {
			p.T.Errorf("the page %s", f)
		}
	}
	p.Forgive()
}

// Shoot keeps a screenshot if REDRAIN_ARTIFACTS names a folder. Its name has the test and name.
func (p *Page) Shoot(name string) {
	p.T.Helper()
	test := strings.NewReplacer("/", "-", ":", "", " ", "_", "#", "-").Replace(strings.TrimPrefix(p.T.Name(), "Test"))
	p.ShootAs(test + "-" + name)
}

// ShootAs is Shoot with a file's name of its own, without its end.
func (p *Page) ShootAs(name string) {
	p.T.Helper()
	if err := p.Keep(name); err != nil {
		p.T.Log(err) // the test is about the page, not about its picture
	}
}

// Axe fails the test for each rule of accessibility that the page breaks in its present state.
func (p *Page) Axe(state string) {
	p.T.Helper()
	found, err := p.Page.Axe()
	p.check(err)
	for _, v := range found {
		p.T.Errorf("%s: %s", state, v)
	}
}

// Named fails the test for each list and table of the page without an accessible name.
func (p *Page) Named(state string) {
	p.T.Helper()
	nameless := Eval[[]string](p, `[...document.querySelectorAll("ul, ol, table")]
		.filter((e) => e.checkVisibility() && e.children.length > 0 && !e.ariaLabel && !e.caption &&
			!document.getElementById(e.getAttribute("aria-labelledby")))
		.map((e) => e.outerHTML.slice(0, 100))`)
	for _, e := range nameless {
		p.T.Errorf("%s: without a name: %s", state, e)
	}
}

// State is for a state that a test has reached: a screenshot of it, and axe.
func (p *Page) State(name string) {
	p.T.Helper()
	p.Shoot(name)
	p.Axe(name)
}

// Eval returns the value of an expression in the page; it awaits a promise.
func Eval[T any](p *Page, format string, args ...any) T {
	p.T.Helper()
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	v, err := browser.Eval[T](p.Page, format)
	p.check(err)
	return v
}

// Until waits until an expression is true in the page.
func (p *Page) Until(what, format string, args ...any) {
	p.T.Helper()
	testenv.Eventually(p.T, browser.Patience, what, func() bool { return Eval[bool](p, format, args...) })
}

// Says waits until the page shows a text, in an element (a selector of CSS).
func (p *Page) Says(selector, text string) {
	p.T.Helper()
	var last string
	defer func() {
		if p.T.Failed() {
			p.T.Logf("%s shows %q", selector, last)
		}
	}()
	testenv.Eventually(p.T, browser.Patience, selector+" shows "+text, func() bool {
		last = p.Text(selector)
		return strings.Contains(last, text)
	})
}

// Text returns the text of an element; "" if it is missing or hidden.
func (p *Page) Text(selector string) string {
	p.T.Helper()
	return Eval[string](p, `[...document.querySelectorAll(%q)]
		.filter((e) => e.checkVisibility()).map((e) => e.innerText).join("\n")`, selector)
}

// Press presses an element: a selector of CSS, or of XPath, which begins with two slashes.
func (p *Page) Press(selector string) {
	p.T.Helper()
	p.check(p.Page.Press(selector, 1))
}

// PressTwice presses an element twice at once, as an impatient person does.
func (p *Page) PressTwice(selector string) {
	p.T.Helper()
	p.check(p.Page.Press(selector, 2))
}

// PressText presses the button, tab or link with a text.
func (p *Page) PressText(text string) {
	p.T.Helper()
	p.Press(`//*[self::button or self::a or @role="button" or @role="tab"][normalize-space()="` + text + `"]`)
}

// Point presses at a place.
func (p *Page) Point(at browser.Point) {
	p.T.Helper()
	p.check(p.Page.Point(at))
}

// Touch puts a finger on each of the places, all at once.
func (p *Page) Touch(at ...browser.Point) {
	p.T.Helper()
	p.check(p.Page.Touch(at...))
}

// Type sends keys to the focused element.
func (p *Page) Type(keys string) {
	p.T.Helper()
	p.check(p.Page.Type(keys))
}

// Fill puts a text into a field.
func (p *Page) Fill(selector, text string) {
	p.T.Helper()
	p.check(p.Page.Fill(selector, text))
}

// Resize puts the page on another device.
func (p *Page) Resize(d browser.Device) {
	p.T.Helper()
	p.check(p.Page.Resize(d))
}

// Offline takes the network away from the page, or gives it back.
func (p *Page) Offline(offline bool) {
	p.T.Helper()
	p.check(p.Page.Offline(offline))
}

// Holdings collects garbage, and counts the objects that the page keeps alive.
func (p *Page) Holdings() browser.Holdings {
	p.T.Helper()
	h, err := p.Page.Holdings()
	p.check(err)
	return h
}

func (p *Page) check(err error) {
	p.T.Helper()
	testenv.Must(p.T, err)
}
