package browser

import (
	"context"
	"fmt"
	"os/exec"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Browser is a Chromium without a window. Its methods may be called from several goroutines.
type Browser struct {
	ctx   context.Context // ends when the browser has
	stop  func()
	agent string // how it names itself to servers
}

// Find returns the path of the Chromium that is installed.
func Find() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium is installed: on Debian, apt-get install chromium")
}

// Start starts the Chromium at path. dir is a folder for its profile, which must be empty or not exist; it stays.
func Start(path, dir string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(dir),
		// The tested pages are our own, and in a container there is often no other sandbox than the container.
		chromedp.NoSandbox,
		// Every machine draws the same, with or without a graphics card.
		chromedp.DisableGPU,
		// Nothing asks the world for anything.
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		// Heap figures to the byte instead of to the bucket.
		chromedp.Flag("enable-precise-memory-info", true),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	b := &Browser{ctx: ctx, stop: func() { closeBrowser(); stop() }}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	about, err := chromedp.CallBrowser(ctx, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		b.stop()
		return nil, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	b.agent = about.UserAgent
	return b, nil
}

// Close ends the browser and waits until it is gone.
func (b *Browser) Close() { b.stop() }
