package reconcile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// askForged edits rows, so that reconciliations name them.
func askForged(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	f.Open(b.OpenCampaign(t, "x1", rain.Spec{Budget: 1000, Packets: 100}))
	f.Win("x1", 0, "first")
	for range 10 {
		f.Win("x1", 0, "u")
		e := f.Entries(paytest.FakeKey{Campaign: "x1"})[1]
		b.MustPost(t, e)
		testenv.Must(t, f.Remove(t.Context(), []rain.EntryRef{e.Ref}))
	}
	f.Win("x1", 0, "last")
	for _, forgery := range []string{
		"UPDATE winner SET wins = wins + 1 WHERE campaign_id = 'x1'",
		"UPDATE payout SET won_at = 9000000000000 WHERE campaign_id = 'x1' AND packet = 2",
		"DELETE FROM payout WHERE campaign_id = 'x1' AND packet = 3",
		"INSERT INTO txn (kind, idem_key, created_at, papers, hash) VALUES ('pay', 'by hand', 1, x'00', x'00')",
	} {
		b.Statement(t, forgery)
	}
}

// askProofs reconciles the books, by sums and by rows, and verifies hashes, blocks and roots.
func askProofs(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	ctx := t.Context()
	for _, campaign := range []string{"c1", "c2", "c3", "c5", "l1", "x1"} {
		for _, depth := range []reconcile.Depth{reconcile.Sums, reconcile.Rows} {
			testenv.Must(t, testenv.Err(b.Proof.ReconcileCampaign(ctx, campaign, f, depth)))
		}
	}
	testenv.Must(t, testenv.Err(b.Proof.ReconcileFull(ctx, f,
		reconcile.FullOptions{Progress: func(reconcile.Progress) {}})))
	roots := chain.NewRoots(b.DB, b.Clock.Now)
	testenv.Must(t, testenv.Err(roots.Take(ctx)))
	testenv.Must(t, testenv.Err(roots.Verify(ctx, chain.VerifyOptions{Found: func(string) {}})))
	heads := testenv.Got(roots.Heads(ctx)).Must(t)
	for _, h := range heads {
		testenv.Must(t, testenv.Err(roots.Holds(ctx, h)))
	}
	paytest.HashAll(t, b.DB)
	testenv.Must(t, paytest.Err3(booking.BalanceOf(ctx, b.DB, booking.World)))
	running, stop := context.WithCancel(ctx)
	file := filepath.Join(t.TempDir(), "roots")
	done := make(chan error)
	go func() { done <- chain.NewRootRounds(roots, file, nil, paytest.Quiet).Run(running) }()
	testenv.Eventually(t, time.Minute, "a file of roots", func() bool { _, err := os.Stat(file); return err == nil })
	stop()
	testenv.Must(t, <-done)
}
