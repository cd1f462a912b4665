package risk

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/server/config"
)

// givers notes who has given the newest verdict about each player.
type givers struct {
	fails bool
	of    map[string]standing.Verdict
}

func (g *givers) Give(_ context.Context, by string, given ...standing.Verdict) (int, error) {
	if g.fails {
		return 0, errors.New("the database is down")
	}
	for _, v := range given {
		v.By = by
		g.of[v.User] = v
	}
	return len(given), nil
}

// A second opinion counts instead of the rules', is asked for once for each finding, also where it cannot be written
// down at first, and where there is none the rules' counts.
func TestSecondOpinion(t *testing.T) {
	now := int64(rainStarts)
	g := &givers{of: map[string]standing.Verdict{}, fails: true}
	asked := map[string]int{}
	w := NewWatch(Options{Limits: config.Default().RiskLimits, Verdicts: g, Clock: func() int64 { return now },
		Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Second: func(_ context.Context, suspects []Suspect) map[string]standing.Verdict {
			said := map[string]standing.Verdict{}
			for _, s := range suspects {
				asked[s.User]++
				if s.Act != standing.Hold || s.Score < 60 || s.Campaign != "c" || s.Session != "s" {
					t.Errorf("%+v", s)
				}
				if s.User != "unknown" {
					said[s.User] = standing.Verdict{User: s.User, Act: standing.VerdictAct(s.User)}
				}
			}
			return said
		}})
	c := campaign()
	c.ID = "c"
	for _, user := range []string{"allow", "deny", "unknown"} {
		h := w.Hand(Who{User: user, Address: user, Session: "s"})
		for wave := range int64(8) {
			tapWave(h, c, wave, 1)
		}
	}
	for range 3 {
		if err := w.Look(t.Context()); err == nil {
			t.Error("nobody says that nothing was written")
		}
	}
	g.fails = false
	look(t, w)
	look(t, w)
	for user, want := range map[string]standing.Verdict{"allow": {Act: standing.Allow, By: ledger.ByService},
		"deny": {Act: standing.Deny, By: ledger.ByService}, "unknown": {Act: standing.Hold, By: ledger.ByRules}} {
		if v := g.of[user]; v.Act != want.Act || v.By != want.By || asked[user] != 1 {
			t.Errorf("%s: %+v, asked %d times", user, v, asked[user])
		}
	}
	if len(w.untold) != 0 {
		t.Errorf("still to be written: %v", w.untold)
	}
}
