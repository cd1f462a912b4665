package server

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/server/admission"
	"redrain/server/config"
)

// TestActorsOfRoles: each role brings its actors, and what every process needs is always there.
func TestActorsOfRoles(t *testing.T) {
	names := func(roles ...string) (all []string) {
		has := (&Server{back: &backends{}, ledger: &ledger.Ledger{}, lists: &admission.Lists{},
			cfg: config.Config{Roles: roles, ReconcileEvery: time.Minute}}).actors()
		for _, group := range [][]actor{has.base, has.money, has.upkeep, has.front} {
			for _, a := range group {
				all = append(all, a.name)
			}
		}
		return all
	}
	always := []string{"clock", "seals", "forgeries", "bus", "health", "installation", "nats", "keys", "campaigns",
		"rooms", "figures", "events", "admission", "sanctions", "lists", "connections", "addresses", "http", "sockets"}
	for role, brings := range map[string][]string{
		config.RoleGateway: {"deciders"},
		config.RoleRelay:   {"relay"},
		config.RoleSettle:  {"settlement", "withdrawals", "provider"},
		config.RoleOperator: {"reconcile loop", "reclaimer", "mover", "watch", "odds", "history", "reconciliation",
			"audit roots"},
	} {
		got, want := names(role), slices.Concat(always, brings)
		slices.Sort(got)
		slices.Sort(want)
		testenv.Equal(t, got, want, "%s", role)
	}
	upkeep := (&Server{back: &backends{}, ledger: &ledger.Ledger{}, lists: &admission.Lists{},
		cfg: config.Config{Roles: config.AllRoles}}).actors().upkeep
	if slices.ContainsFunc(upkeep, func(a actor) bool { return a.name == "reconciliation" }) {
		t.Error("the books are proved though that is off")
	}
}

// TestGroup: an actor that ends too early is reported, with or without an error. An actor that is stopped is not.
func TestGroup(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		run  func(context.Context) error
		want error
	}{
		"fails": {func(context.Context) error { return broken }, broken},
		"ends":  {func(context.Context) error { return nil }, errEnded},
	} {
		failed := make(chan error, 1)
		g := newGroup(failed)
		g.start([]actor{{name, c.run}})
		testenv.WantErr(t, <-failed, c.want, name)
		g.stop()
	}
	failed := make(chan error, 1)
	g := newGroup(failed)
	g.start([]actor{{"waits", func(ctx context.Context) error { <-ctx.Done(); return nil }}})
	g.stop()
	if len(failed) > 0 {
		t.Error(<-failed)
	}
}
