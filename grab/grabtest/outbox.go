package grabtest

import (
	"fmt"
	"time"

	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/rain"
)

// Fill makes n entries of one win each, in a game with one shard.
func (gm *Game) Fill(n int) {
	gm.T.Helper()
	for i := range n {
		gm.Want(fmt.Sprint("filler ", i), gm.Drop(0), outcome.Won)
	}
}

// Read is up to limit entries of shard 0, the oldest first.
func (gm *Game) Read(limit int) []rain.Entry {
	gm.T.Helper()
	entries, _, err := gm.G.Page(gm.T.Context(), gm.C.ID, 0, "", limit)
	testenv.Must(gm.T, err)
	return entries
}

// Remove takes entries out of the outbox, as after their settlement.
func (gm *Game) Remove(entries []rain.Entry) {
	gm.T.Helper()
	testenv.Must(gm.T, gm.G.Remove(gm.T.Context(), Refs(entries)))
}

// Pending is the number of entries in the game's outboxes.
func (gm *Game) Pending() int64 {
	gm.T.Helper()
	return testenv.Got(gm.G.Pending(gm.T.Context(), gm.C)).Must(gm.T)
}

// Outbox is all that waits in the game's outboxes.
func (gm *Game) Outbox() (entries []rain.Entry) {
	gm.T.Helper()
	shards := testenv.Got(gm.G.Snapshot(gm.T.Context(), gm.C)).Must(gm.T)
	for _, s := range shards {
		entries = append(entries, s.Entries...)
	}
	return entries
}

// Confirmed returns the wins that the player may be notified of.
func (gm *Game) Confirmed(user string) []rain.Win {
	gm.T.Helper()
	return testenv.Got(gm.G.PlayersWins(gm.T.Context(), gm.C, user)).Must(gm.T).Confirmed
}

// UntilWon taps until the result is a win. On a busy machine a replica may need longer than its time limit.
func (gm *Game) UntilWon(user, drop string) (r outcome.Result) {
	gm.T.Helper()
	testenv.Eventually(gm.T, time.Minute, user+" receives the win", func() bool {
		r = gm.Tap(user, drop)
		return r.Outcome == outcome.Won
	})
	return r
}

// Refs are the entries' references.
func Refs(entries []rain.Entry) []rain.EntryRef {
	all := make([]rain.EntryRef, len(entries))
	for i, e := range entries {
		all[i] = e.Ref
	}
	return all
}

// Held is all that Redis knows a player to have won, confirmed or not.
func (gm *Game) Held(user string) (wins []rain.Win, err error) {
	records, _, err := gm.G.Records(gm.T.Context(), gm.C, user, rain.MaxPackets)
	for _, r := range records {
		wins = append(wins, r.Win)
	}
	return wins, err
}
