package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"redrain/internal/testenv"
)

// TestAPersonPlays opens the player's page of the in-process default in a real browser, as a newcomer does: a rain comes by
// itself, fingers hit packets, and money arrives.
func TestAPersonPlays(t *testing.T) {
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	ctx, faults := openBrowser(t, n.url)

	do := func(limit time.Duration, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatal(err)
		}
	}
	do(30*time.Second, chromedp.EmulateViewport(390, 844), chromedp.Navigate(n.url+"/"), chromedp.WaitVisible("#balance"))
	var taps []chromedp.Action[chromedp.Void]
	for y := 120.0; y < 780; y += 60 {
		for x := 30.0; x < 380; x += 45 {
			taps = append(taps, chromedp.MouseClickXY(x, y))
		}
	}
	var balance string
	testenv.Eventually(t, time.Minute, "money on the page", func() bool {
		do(30*time.Second, taps...)
		var err error
		if balance, err = chromedp.Run(ctx, chromedp.Text("#balance")); err != nil {
			t.Fatal(err)
		}
		amount, err := strconv.ParseFloat(strings.TrimSpace(balance), 64)
		return err == nil && amount > 0
	})
	shoot(ctx, t, "play")
	t.Logf("the page shows a balance of %s", balance)
	if got := faults(); len(got) > 0 {
		t.Errorf("the page's console and network:\n%s", strings.Join(got, "\n"))
	}
}

// TestPagesOpen opens the other pages and looks for faults in their consoles, and for requests to other hosts.
func TestPagesOpen(t *testing.T) {
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	for page, visible := range map[string]string{
		"/screen": "canvas", "/console#token=" + operatorToken: "#signout", "/docs": "main",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(page, "/"), "#")
		t.Run(name, func(t *testing.T) {
			ctx, faults := openBrowser(t, n.url)
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(n.url+page), chromedp.WaitVisible(visible))
			if err != nil {
				t.Fatal(err)
			}
			shoot(ctx, t, name)
			if got := faults(); len(got) > 0 {
				t.Errorf("the page's console and network:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// openBrowser starts a browser with a profile of its own. faults are the page's console errors, uncaught exceptions and
// requests that went to another host.
func openBrowser(t *testing.T, home string) (_ context.Context, faults func() []string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	alloc, stopAlloc := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(func() { stop(); stopAlloc() })
	var mu sync.Mutex
	var found []string
	if err := chromedp.Do(ctx); err != nil { // starts it
		t.Fatal(err)
	}
	err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			found = append(found, "exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				for _, a := range e.Args {
					found = append(found, string(e.Type)+": "+string(a.Value)+a.Description)
				}
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, home+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
				found = append(found, "a request to "+u)
			}
		}
	})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{})
			return err
		}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), found...)
	}
}

// shoot keeps a screenshot where REDRAIN_ARTIFACTS names a folder.
func shoot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("REDRAIN_ARTIFACTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}
