package grabtest

import (
	"context"
	"fmt"
	"testing"

	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// MaxBatch is the most taps that a gate has decided at once.
const MaxBatch = 500

// RecordText is a player's first win, with its outbox entry, as the wins hash has it.
func RecordText(w rain.Win, entry string) string { return fmt.Sprintf("%d %s ", w.Packet, entry) }

// Tap is a tap for a Script.
type Tap struct {
	User string
	Drop rain.DropID
}

// TapOf is a tap on the drop of that name.
func TapOf(t testing.TB, user, drop string) *Tap {
	t.Helper()
	id, ok := rain.ParseDrop(drop)
	if !ok {
		t.Fatalf("%q is no drop", drop)
	}
	return &Tap{User: user, Drop: id}
}

// Script has batches decided on one shard, without a gate.
type Script struct {
	Answer *store.Answer // to the last call
	Heard  string        // the newest entry that it knows
	batch  *store.Batch
	game   *Game
}

// Script is that of the first shard.
func (gm *Game) Script() *Script { return ScriptOf(gm, 0) }

// ScriptOf is that of a shard.
func ScriptOf(gm *Game, shard int) *Script {
	return &Script{Heard: "0-0", batch: store.NewBatch(gm.G.Store, gm.C.ID, shard), game: gm}
}

// Call has a batch decided.
func (s *Script) Call(ctx context.Context, taps []*Tap) (err error) {
	for _, t := range taps {
		s.batch.Add(&t.User, t.Drop.Ticket())
	}
	r := &rain.Rain{}
	if now := s.game.C.Current(); now != nil {
		r = now
	}
	s.Answer, err = s.batch.Decide(ctx, r, s.game.Amounts, s.game.Options.Clock())
	if err != nil {
		return err
	}
	s.batch.Confirmed()
	if s.Answer.EntryID != "" {
		s.Heard = s.Answer.EntryID
	}
	return nil
}

// BatchOf has one batch decided and confirmed, as a gate does, and returns the results in the order of the taps:
// "user drop".
func (gm *Game) BatchOf(taps ...[2]string) []outcome.Result {
	gm.T.Helper()
	batch := make([]*Tap, len(taps))
	for i, t := range taps {
		batch[i] = TapOf(gm.T, t[0], t[1])
	}
	script := gm.Script()
	testenv.Must(gm.T, script.Call(gm.T.Context(), batch))
	results, entries := script.Answer.Results, script.Answer.EntryIDs
	var wins confirm.Pending
	if script.Answer.EntryID != "" {
		wins.Add(script.Answer.EntryID, script.Answer.Entry.Wins[0], &script.Answer.Entry)
	}
	for i, t := range batch {
		win := rain.Win{User: t.User, Packet: results[i].Packet, Amount: results[i].Amount, Drop: t.Drop.String()}
		if results[i].Outcome == outcome.Won && entries[i] != script.Answer.EntryID {
			wins.Add(entries[i], win, nil)
		}
	}
	if err := gm.G.Confirm(gm.T.Context(), gm.C.ID, 0, &wins); err != nil {
		gm.T.Logf("the batch is not confirmed: %v", err)
	}
	for i, r := range results {
		if r.Outcome == outcome.Won && !wins.Confirmed(entries[i]) {
			results[i] = outcome.Result{}
		}
	}
	return results
}
