package server

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/withdraw"
	"redrain/rain"
	"redrain/server/api"
	"redrain/server/campaigns"
	"redrain/server/cluster"
	"redrain/server/live"
	"redrain/server/servertest"
)

// TestARoundThatPanicsEndsNoActor: the rounds of each actor panic, because a dependency is missing. The actor goes on
// with the next round, is counted, and ends with its context.
func TestARoundThatPanicsEndsNoActor(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	node := func(g *loop.Recoverer) campaigns.Node {
		return campaigns.Node{Leases: servertest.Leases{}, Recoverer: g, Log: quiet}
	}
	for part, run := range map[string]func(g *loop.Recoverer, ctx context.Context) error{
		"figures": func(g *loop.Recoverer, ctx context.Context) error {
			return live.NewFigures(live.FiguresOptions{Counts: live.NewCounts(), Recoverer: g, Log: quiet}).Run(ctx)
		},
		"events": func(g *loop.Recoverer, ctx context.Context) error {
			return api.NewEvents(api.EventsOptions{Recoverer: g, Log: quiet}).Run(ctx)
		},
		"campaigns": func(g *loop.Recoverer, ctx context.Context) error {
			return cluster.NewRegistry(cluster.RegistryOptions{Known: cluster.NewKnown(), Recoverer: g,
				Log: quiet}).Run(ctx)
		},
		"reclaimer": func(g *loop.Recoverer, ctx context.Context) error {
			return campaigns.NewReclaimer(campaigns.ReclaimerOptions{Node: node(g)}).Run(ctx)
		},
		"reconciliation": func(g *loop.Recoverer, ctx context.Context) error {
			return campaigns.NewProofs(campaigns.ProofsOptions{Node: node(g), Every: time.Second}).Run(ctx)
		},
		"reconcile loop": func(g *loop.Recoverer, ctx context.Context) error {
			known := cluster.NewKnown()
			known.Store(&rain.Campaign{ID: "c", Status: rain.Open})
			n := node(g)
			n.Known = cluster.NewRegistry(cluster.RegistryOptions{Known: known})
			return (&campaigns.ReconcileLoop{Node: n}).Run(ctx)
		},
		"demo": func(g *loop.Recoverer, ctx context.Context) error {
			return (&campaigns.Demo{Node: node(g)}).Run(ctx)
		},
		"withdrawals": func(g *loop.Recoverer, ctx context.Context) error {
			return withdraw.NewPayer(nil, withdraw.Wallet{}, withdraw.PayerOptions{Recoverer: g, Log: quiet}).Run(ctx)
		},
	} {
		t.Run(part, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				metrics, alarms := prometheus.NewRegistry(), make(chan string, 100)
				recoverer, err := loop.NewRecoverer(metrics, quiet, func(part, _ string) { alarms <- part })
				testenv.Must(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of the bubble
				defer cancel()
				if err := run(recoverer, ctx); err != nil || ctx.Err() == nil {
					t.Errorf("it ended with %v, its context with %v", err, ctx.Err())
				}
				if n := panics(t, metrics, part); n < 3 {
					t.Errorf("%v rounds have panicked in a minute", n)
				}
				if n := len(alarms); n != 1 || <-alarms != part {
					t.Errorf("%d alarms", n)
				}
			})
		})
	}
}

// panics returns the number of a part's panics.
func panics(t *testing.T, metrics prometheus.Gatherer, part string) (n float64) {
	t.Helper()
	families, err := metrics.Gather()
	testenv.Must(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == part {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
