package e2e

import (
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// TestAPersonPlays opens the player's page of the in-process default in a real browser, as a newcomer does: a rain
// comes by itself, fingers hit packets, and money arrives.
func TestAPersonPlays(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	cfg := setting{}.config()
	cfg.Demo = true
	n := startNode(t, cfg)
	phone := browser.Device{Width: 390, Height: 844, Scale: 1}
	g := &playPage{Page: browsertest.Open(t, browser.Options{Home: n.url, Device: phone}), t: t}
	g.Go("/?debug")
	g.Press("#play")
	g.Catch(1)
	testenv.Eventually(t, browser.Patience, "money on the page", func() bool { return g.balance() > 0 })
	g.Shoot("won")
}

// TestPagesOpen opens the other pages and looks for faults in their consoles, and for requests to other hosts.
func TestPagesOpen(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
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
