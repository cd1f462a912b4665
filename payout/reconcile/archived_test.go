package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/archive"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/rain"
)

// dropWorld is a ledger from which campaigns leave while others go on.
type dropWorld struct {
	*recentLedger
	rt    *rapid.T
	made  int
	live  map[string]int // the packets that were won of campaigns that go on
	over  []string
	files map[string]archive.File

	faulty bool // something is changed by hand now and then
	wrong  int  // deposits that were changed by hand
	fault  bool // one of them is wrong, so checkpoints have a hole
}

const dropPackets = 12

func (w *dropWorld) must(err error) {
	w.rt.Helper()
	if err != nil {
		w.rt.Fatal(err)
	}
}

// open makes a campaign.
func (w *dropWorld) open() {
	w.made++
	id := fmt.Sprintf("d%d", w.made)
	w.f.Open(w.b.OpenCampaign(w.t, id, rain.Spec{Budget: 10 * dropPackets, Packets: dropPackets}))
	w.live[id] = 0
}

// win pays some packets of a campaign, all to a few players.
func (w *dropWorld) win(id string) {
	var users []string
	for range rapid.IntRange(1, 4).Draw(w.rt, "wins") {
		if w.live[id] < dropPackets-1 {
			users = append(users, rapid.SampledFrom([]string{"u", "v", "w"}).Draw(w.rt, "user"))
			w.live[id]++
		}
	}
	if len(users) > 0 {
		w.f.Win(id, 0, users...)
		w.settle(id)
	}
}

// settle posts what waits in the campaign's outbox.
func (w *dropWorld) settle(id string) {
	entries, err := w.f.Oldest(id, 0, 1000)
	w.must(err)
	w.b.MustPost(w.t, entries...)
	for _, e := range entries {
		w.must(w.f.Remove(context.Background(), []rain.EntryRef{e.Ref}))
	}
}

// end closes a campaign, and exports it.
func (w *dropWorld) end(id string) {
	delete(w.live, id)
	ctx := context.Background()
	w.b.CloseCampaign(w.t, id)
	w.f.Close(id, 0)
	w.settle(id)
	_, err := w.b.Update(ctx, id, func(c *rain.Campaign) error { c.Drained = true; return nil })
	w.must(err)
	var text bytes.Buffer
	_, err = export.New(w.b.DB, w.b.Clock.Now).Write(ctx, id, "ann", nil, &text)
	w.must(err)
	file, err := archive.ReadFile(&text)
	w.must(err)
	w.must(w.b.Audit(ctx, ledger.AuditRecord{Actor: "ann", Action: "campaign.export", Target: "campaign:" + id,
		Detail: []byte(`{"sha256":"` + file.SHA256 + `"}`)}))
	w.files[id], w.over = file, append(w.over, id)
}

// drop removes a campaign, in small steps, between which others go on and everything is proved; it may be killed.
func (w *dropWorld) drop(id string) {
	killed := errors.New("killed")
	for {
		a := archive.New(w.b.DB, w.b.Clock.Now)
		a.Rows = int64(rapid.IntRange(1, 6).Draw(w.rt, "rows"))
		a.Passed = func(string) error {
			w.act(false)
			if rapid.IntRange(0, 3).Draw(w.rt, "fate") == 0 {
				return killed
			}
			return nil
		}
		_, err := a.Campaign(context.Background(), id, w.files[id], "ann")
		if err == nil {
			return
		}
		if !errors.Is(err, killed) {
			w.rt.Fatal(err)
		}
	}
}

// act does one thing.
func (w *dropWorld) act(mayDrop bool) {
	pick := func(of []string) string { return rapid.SampledFrom(of).Draw(w.rt, "campaign") }
	switch n := rapid.IntRange(0, 9).Draw(w.rt, "act"); {
	case len(w.live) == 0 || n == 0:
		w.open()
	case n < 5:
		w.win(pick(sortedNames(w.live)))
	case n == 5:
		w.end(pick(sortedNames(w.live)))
	case n == 6:
		_, err := w.b.Deposit(context.Background(), "acme", fmt.Sprint("p", w.b.Clock.Now()), 5)
		w.must(err)
	case n == 7 && mayDrop && len(w.over) > 0:
		at := rapid.IntRange(0, len(w.over)-1).Draw(w.rt, "over")
		w.drop(w.over[at])
	case n == 8 && w.faulty:
		w.tamper()
	default:
		w.prove(rapid.Bool().Draw(w.rt, "full"))
	}
}

// tamper makes a deposit and changes it by hand, before any checkpoint has closed it, or puts it right again.
func (w *dropWorld) tamper() {
	by := "- 1"
	if w.fault = !w.fault; w.fault {
		w.wrong++
		by = "+ 1"
		_, err := w.b.Deposit(context.Background(), "acme", fmt.Sprint("wrong", w.wrong), 5)
		w.must(err)
	}
	n, err := w.b.DB.Exec(context.Background(), "UPDATE txn SET created_at = created_at "+by+" WHERE idem_key = ?",
		fmt.Sprint("deposit:acme:wrong", w.wrong))
	w.must(err)
	if n != 1 {
		w.rt.Fatalf("%d deposits were changed", n)
	}
}

// hole leaves a deposit that was changed in a hole of a checkpoint: proofs go on behind it.
func (w *dropWorld) hole() {
	if !w.fault {
		w.tamper()
	}
	for range 30 { // more links than a checkpoint closes at once
		_, err := w.b.Deposit(context.Background(), "acme", fmt.Sprint("p", w.b.Clock.Now()), 5)
		w.must(err)
	}
	w.prove(false)
	if n := w.b.Count(w.t, "SELECT COUNT(*) FROM proof_checkpoint WHERE holes LIKE '%from%'"); n == 0 {
		w.rt.Fatal("no checkpoint has a hole")
	}
}

func sortedNames(of map[string]int) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *dropWorld) prove(full bool) {
	w.rt.Helper()
	by := w.b.Proof.ReconcileRecent
	if full {
		by = w.b.Proof.ReconcileAll
	}
	books, err := by(context.Background(), w.f, nil)
	w.must(err)
	found := all(books)
	hear := func(fault string) { found = append(found, fault) }
	_, err = chain.Audit(context.Background(), w.b.DB, chain.AuditOptions{Found: hear})
	w.must(err)
	for _, text := range found {
		if !w.fault || !strings.Contains(text, "(deposit:acme:wrong") {
			w.rt.Fatalf("full %v: %s", full, text)
		}
	}
	if w.fault && len(found) < 2 {
		w.rt.Fatalf("full %v: only %q is found of a deposit that was changed", full, found)
	}
}

// TestCampaignsLeaveBetweenOtherWork drops campaigns at random, killed at random, between postings, checkpoints and
// proofs of any kind, also beside holes of checkpoints: no proof finds anything but what was changed by hand. Each
// check has a ledger of its own: so a seed gives the same again, and no check is slower for those before it.
func TestCampaignsLeaveBetweenOtherWork(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	run, dropped := 0, 0
	property.CheckFew(t, 20, 2, func(rt *rapid.T) {
		run++
		of := property.TB(t, rt)
		b := paytest.OnSQLite(of)
		w := &dropWorld{recentLedger: newRecentLedger(of, b), rt: rt, live: map[string]int{},
			files: map[string]archive.File{}}
		w.faulty = rapid.Bool().Draw(rt, "faulty")
		for range rapid.IntRange(5, 25).Draw(rt, "acts") {
			w.act(true)
		}
		if w.faulty {
			w.hole()
		}
		for len(w.live) > 0 {
			w.end(sortedNames(w.live)[0])
		}
		for _, id := range w.over {
			w.drop(id)
			dropped++
			if n := b.Count(of, "SELECT COUNT(*) FROM payout WHERE campaign_id = ?", id); n != 0 {
				rt.Fatalf("%d payouts are left", n)
			}
		}
		w.hole()
		w.tamper()
		w.prove(false)
		w.prove(true)
	})
	t.Logf("%d campaigns left in %d runs", dropped, run)
	if dropped == 0 {
		t.Error("no campaign was dropped")
	}
}
