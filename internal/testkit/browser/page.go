package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Patience is for a browser on a machine that has other work: how long one step may take.
const Patience = 30 * time.Second

// Options say how a page is opened.
type Options struct {
	Home     string   // scheme and host that the page may ask: "http://127.0.0.1:8080"; a request to another is a fault
	Device   Device   // the zero value: Desktop
	Language string   // as browsers write it, most wanted first: "zh-CN,zh" (default "en-US,en")
	Calm     bool     // the person has asked for reduced motion
	Dark     bool     // the person has asked for dark colours
	Scripts  []string // run before the page's own, in each document
}

// Page is one page, with cookies and storage of its own. It may be used by one goroutine at a time, except for Faults.
type Page struct {
	ctx    context.Context
	close  func()
	home   string
	device Device

	mu     sync.Mutex
	faults []Fault
}

// Open opens an empty page.
func (b *Browser) Open(o Options) (*Page, error) {
	if o.Device.Width == 0 {
		o.Device = Desktop
	}
	if o.Language == "" {
		o.Language = "en-US,en"
	}
	// Every page is a window of its own: a tab behind another would draw nothing.
	ctx, closePage := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p := &Page{ctx: ctx, close: closePage, home: o.Home, device: o.Device}
	err := errors.Join(chromedp.Do(ctx), chromedp.Listen(ctx, p.listen), p.Do(Patience, p.prepare(o, b.agent)...))
	if err != nil {
		closePage()
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return p, nil
}

// Close closes the page.
func (p *Page) Close() { p.close() }

// Device returns the page's device.
func (p *Page) Device() Device { return p.device }

// Home is the server that the page may ask.
func (p *Page) Home() string { return p.home }

// Do runs steps of chromedp's, all within a time.
func (p *Page) Do(within time.Duration, steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Go opens an address, and waits until it is loaded. A path is relative to the page's home.
func (p *Page) Go(address string) error {
	if address != "" && address[0] == '/' {
		address = p.home + address
	}
	return p.Do(Patience, chromedp.Navigate(address))
}

// Eval returns the value of an expression in a page; it awaits a promise.
func Eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		err = fmt.Errorf("%s: %w", expression, err)
	}
	return v, err
}

// Screenshot returns a picture of the page as PNG.
func (p *Page) Screenshot() ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		fast := true // a larger file, in half of the time
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: &fast})
		return shot.Data, err
	})
}

// WebP returns a picture of the page, smaller than a PNG. quality is 0 to 100.
func (p *Page) WebP(quality int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		shot, err := cdp.Call(ctx, t, page.CaptureScreenshot,
			page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		return shot.Data, err
	})
}

// Artifacts is the environment variable with the folder of screenshots. Without it no screenshots are made.
const Artifacts = "REDRAIN_ARTIFACTS"

// Keep makes a screenshot name.png in the folder of Artifacts, if it is set.
func (p *Page) Keep(name string) error {
	dir := os.Getenv(Artifacts)
	if dir == "" {
		return nil
	}
	png, err := p.Screenshot()
	if err != nil {
		return fmt.Errorf("screenshot %s: %w", name, err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
}
