package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
)

// patience is for a browser on a machine that has other work.
const patience = 20 * time.Second

// TestInBrowser runs the tests of the pages, each in a tab with cookies and storage of its own. They share one browser,
// whose start takes longer than most of them.
func TestInBrowser(t *testing.T) {
	b := startBrowser(t)
	t.Run("modules", b.testModules)
	t.Run("a guest wins and is paid", b.testAGuestWinsAndIsPaid)
	t.Run("a lost tap is sent again", b.testALostTapIsSentAgain)
	t.Run("unavailable may be tapped again", b.testUnavailableMayBeTappedAgain)
	t.Run("close codes", b.testCloseCodes)
	t.Run("no guests: a token is asked for", b.testWithoutGuests)
	t.Run("a token in the address", b.testTokenInTheAddress)
	t.Run("console", b.testConsole)
	t.Run("console refuses a wrong token", b.testConsoleRefusesAWrongToken)
	t.Run("screen", b.testScreen)
}

// browser is Chromium without a window.
type browser struct{ ctx context.Context }

func startBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("accept-lang", "en-US"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(func() { closeTab(); stop() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return &browser{ctx: ctx}
}

// tab is a page in a browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	fake *fakeServer

	mu     sync.Mutex
	faults []string
}

// open opens a page of a fake server. At the end of the test the page must have had no error and asked no other host.
func (b *browser) open(t *testing.T, f *fakeServer, path string, width, height int64) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &tab{t: t, ctx: ctx, fake: f}
	t.Cleanup(func() {
		p.shoot("end")
		closeTab()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, fault := range p.faults {
			t.Errorf("%s: %s", path, fault)
		}
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(f.URL + path))
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			p.faults = append(p.faults, "console: "+string(a.Value)+a.Description)
		}
	case *log.EventEntryAdded:
		// A refused request is in the log whatever the page makes of it; those are the tests' own doing.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.faults = append(p.faults, "log: "+e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, p.fake.URL+"/") && !strings.HasPrefix(u, "blob:") {
			p.faults = append(p.faults, "a request to "+u)
		}
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// press clicks the button with a text.
func (p *tab) press(text string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.Search(`//button[normalize-space()="` + text + `"]`)))
}

// eval is what an expression, or the promise that it is, comes to in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (p *tab) text(id string) string {
	p.t.Helper()
	return eval[string](p, `document.getElementById("`+id+`").textContent`)
}

// shows waits until an element has a text.
func (p *tab) shows(id, text string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "#"+id+" shows "+text, func() bool { return p.text(id) == text })
}

func (p *tab) hidden(id string) bool {
	p.t.Helper()
	return eval[bool](p, `document.getElementById("`+id+`").hidden`)
}

func (p *tab) mode(want string) {
	p.t.Helper()
	testenv.Eventually(p.t, patience, "the page is "+want, func() bool { return eval[string](p, `document.body.dataset.mode`) == want })
}

// shoot keeps a screenshot where REDRAIN_ARTIFACTS names a folder.
func (p *tab) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("REDRAIN_ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Log("no screenshot:", err)
		return
	}
	file := filepath.Join(dir, strings.NewReplacer("/", "-", ":", "").Replace(p.t.Name())+"-"+name+".png")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		p.t.Error(err)
		return
	}
	if err := os.WriteFile(file, png, 0o600); err != nil {
		p.t.Error(err)
	}
}
