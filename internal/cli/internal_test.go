package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// A terminal is what a test does not have, so its drawing is tested from inside.
func TestRedrawn(t *testing.T) {
	var screen bytes.Buffer
	show := redrawn(&App{Stdout: &screen, Location: time.UTC})
	g := glance{At: 1_771_329_600_000, Campaign: "c1", State: "ready", name: "\x1b[2J",
		Stats: client.Stats{Won: 7, AmountWon: 88}}
	testenv.Must(t, show(g))
	first := screen.String()
	if strings.Contains(first, "\x1b[2J") || strings.Contains(first, "A\x1b") ||
		!strings.Contains(first, "no rain yet") || !strings.Contains(first, "0.88") {
		t.Errorf("first: %q", first)
	}
	screen.Reset()
	g.Rain = &wire.Rain{ID: "r1", Phase: rain.PhaseFalling}
	testenv.Must(t, show(g))
	if n := strings.Count(first, "\n"); !strings.HasPrefix(screen.String(), "\x1b["+string(rune('0'+n))+"A") ||
		strings.Count(screen.String(), "\n") != n {
		t.Errorf("the second does not cover the first: %q", screen.String())
	}
}
