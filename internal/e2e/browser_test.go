package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"redrain/internal/browser"
	"redrain/internal/browser/browsertest"
	"redrain/internal/testenv"
)

// TestAPersonPlays opens the player's page of the in-process default in a real browser, as a newcomer does: a rain
// comes by itself, fingers hit packets, and money arrives.
func TestAPersonPlays(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	phone := browser.Device{Width: 390, Height: 844, Scale: 1}
	p := browsertest.Open(t, browser.Options{Home: n.url, Device: phone})
	p.Go("/")
	p.Press("#play")

	var taps []chromedp.Action[chromedp.Void]
	for y := 120.0; y < 780; y += 60 {
		for x := 30.0; x < 380; x += 45 {
			taps = append(taps, chromedp.MouseClickXY(x, y))
		}
	}
	var balance string
	testenv.Eventually(t, time.Minute, "money on the page", func() bool {
		if err := p.Do(browser.Patience, taps...); err != nil {
			t.Fatal(err)
		}
		balance = p.Text("#balance")
		amount, err := strconv.ParseFloat(strings.TrimSpace(balance), 64)
		return err == nil && amount > 0
	})
	p.Shoot("won")
	t.Logf("the page shows a balance of %s", balance)
}

// TestPagesOpen opens the other pages and looks for faults in their consoles, and for requests to other hosts.
func TestPagesOpen(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	for page, visible := range map[string]string{
		"/screen": "canvas", "/console#token=" + operatorToken: "nav.pages", "/docs": "main",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(page, "/"), "#")
		t.Run(name, func(t *testing.T) {
			p := browsertest.Open(t, browser.Options{Home: n.url})
			p.Go(page)
			p.Until(visible+" is there", `document.querySelector(%q)?.checkVisibility() ?? false`, visible)
			p.Shoot("open")
		})
	}
}
