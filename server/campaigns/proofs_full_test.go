package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// largeBooks are so large that a proof of what is recent leaves out rows. A full proof reads ten slices of a second.
type largeBooks struct {
	nodeBooks
	mu      *sync.Mutex
	passes  *int
	froms   *[]string // where the passes have begun
	fault   *string   // what a full proof finds
	recents *int      // proofs of what is recent
}

const slices10 = 10

func (b largeBooks) ReconcileRecent(context.Context, reconcile.Hot, reconcile.CampaignProved) (reconcile.Books, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.recents++
	return reconcile.Books{Kind: reconcile.KindRecent, Balanced: true}, nil
}

func (b largeBooks) ReconcileFull(ctx context.Context, _ reconcile.Hot, o reconcile.FullOptions) (reconcile.Books,
	error) {
	at := 0
	if o.From != nil {
		if err := json.Unmarshal([]byte(o.From.After), &at); err != nil {
			return reconcile.Books{}, err
		}
		b.mu.Lock()
		*b.froms = append(*b.froms, o.From.After)
		b.mu.Unlock()
	}
	for ; at < slices10; at++ {
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble, where time is not waited for
		if o.Slice == nil {
			continue
		}
		next, _ := json.Marshal(at + 1)
		if err := o.Slice(ctx, reconcile.Place{Part: "slices", After: string(next)}, time.Second); err != nil {
			return reconcile.Books{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.passes++
	books := reconcile.Books{Kind: reconcile.KindFull, Balanced: *b.fault == "", CheckedAt: 1}
	if *b.fault != "" {
		books.Findings, books.Fingerprint = []string{*b.fault}, *b.fault
	}
	return books, nil
}

// TestLargeBooksAreReadInTheBackground: by their share of the time, from where an earlier pass was broken off, with an
// alarm for what is found; and who asks for a proof of what is recent hears of it.
func TestLargeBooksAreReadInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &fakeKept{last: map[string]ledger.Proof{}, since: time.Now().UnixMilli()}
		passes, recents, fault := 0, 0, ""
		var froms, alarms []string
		var mu sync.Mutex
		books := largeBooks{nodeBooks{newFakeBooks(), "a"}, &mu, &passes, &froms, &fault, &recents}
		run := func() (*Proofs, func()) {
			p := NewProofs(ProofsOptions{Books: books, Campaigns: books, Kept: kept, Leases: books, Node: "a",
				Every: time.Minute, Share: 0.1, Log: slog.New(slog.DiscardHandler),
				Alarm: func(_, campaign, message string) {
					mu.Lock()
					defer mu.Unlock()
					alarms = append(alarms, campaign+": "+message)
				}})
			ctx, cancel := context.WithCancel(t.Context())
			var ended sync.WaitGroup
			ended.Go(func() { _ = p.Run(ctx) })
			return p, func() { cancel(); ended.Wait() }
		}
		heard := func() string {
			mu.Lock()
			defer mu.Unlock()
			said := strings.Join(alarms, "\n")
			alarms = nil
			return said
		}
		_, stop := run()
		for range 60 { // the first round finds the books to be large, and then a pass begins, which takes 100 s
			if reading, _ := kept.Reading(t.Context()); reading.Place != "" {
				break
			}
			sleepInBubble(5 * time.Second)
		}
		stop()
		if reading, _ := kept.Reading(t.Context()); passes != 0 || reading.Place == "" || reading.SpentMS == 0 {
			t.Fatalf("%d passes, %+v", passes, reading)
		}
		mu.Lock()
		fault = "transaction 7 was changed"
		mu.Unlock()
		p, stop := run()
		defer stop()
		minutes(13)
		if said := heard(); passes == 0 || len(froms) != 1 || froms[0] == "0" ||
			strings.Count(said, ": the books do not balance: transaction 7 was changed") != 1 {
			t.Errorf("%d passes from %q, %q", passes, froms, said)
		}
		recent, err := p.Recent(t.Context())
		if err != nil || recent.Balanced || len(recent.Findings) != 1 ||
			!strings.Contains(recent.Findings[0], "redrain reconcile --full") {
			t.Errorf("%+v, %v", recent, err)
		}
		if at := p.Proved(); at.Full.ProvedAt == 0 || at.Full.Balanced || at.Everything.Kind != ledger.ProofRecent {
			t.Errorf("%+v", at)
		}
		mu.Lock()
		before := passes
		fault, recents = "", 0
		mu.Unlock()
		minutes(60)
		mu.Lock()
		done := passes - before
		if recents < 59 {
			t.Errorf("what is recent of large books was proved %d times in 60 rounds", recents)
		}
		mu.Unlock()
		// of a tenth of an hour there are 36 passes of ten seconds, less a minute's pause each
		if done < 20 || done > 37 {
			t.Errorf("%d passes in an hour", done)
		}
		if recent, err := p.Recent(t.Context()); err != nil || !recent.Balanced {
			t.Errorf("healed: %+v, %v", recent, err)
		}
	})
}

// TestOneFullProofAtATime is for who asks: of all nodes together.
func TestOneFullProofAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes, recents, fault := 0, 0, ""
		var froms []string
		f := newFakeBooks()
		of := func(node string) *Proofs {
			books := largeBooks{nodeBooks{f, node}, &sync.Mutex{}, &passes, &froms, &fault, &recents}
			return NewProofs(ProofsOptions{Books: books, Campaigns: books, Leases: books, Node: node,
				Log: slog.New(slog.DiscardHandler), Alarm: func(string, string, string) {}})
		}
		var first sync.WaitGroup
		first.Go(func() {
			if books, err := of("a").Full(t.Context(), nil); err != nil || !books.Balanced {
				t.Errorf("%+v, %v", books, err)
			}
		})
		sleepInBubble(time.Second)
		if _, err := of("b").Full(t.Context(), nil); !errors.Is(err, ErrFullProof) {
			t.Errorf("two at once: %v", err)
		}
		first.Wait()
		if books, err := of("b").Full(t.Context(), nil); err != nil || !books.Balanced {
			t.Errorf("%+v, %v", books, err)
		}
	})
}
