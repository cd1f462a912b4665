package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv/property"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// TestEveryChangeByHandIsFound plays as TestNoFalseFinding does, stops, edits one value in Redis or in the ledger,
// and expects a finding.
func TestEveryChangeByHandIsFound(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for _, table := range tampered {
		change(t, b, "CREATE TABLE kept_"+table+" AS "+allOf(table))
	}
	run := 0
	tried := map[string]int{}
	property.Check(t, 12, func(rt *rapid.T) {
		run++
		w := newWorld(t, b, fmt.Sprintf("t%d", run), rapid.IntRange(1, 3).Draw(rt, "shards"), 0)
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			w.act(rt)
		}
		for shard := range w.c.Shards {
			w.rebuild(shard)
		}
		prove := func(what string, hot reconcile.LiveState, depth reconcile.Depth) bool {
			r, err := b.Proof.ReconcileCampaign(t.Context(), w.c.ID, hot, depth)
			if err != nil {
				rt.Fatalf("%s: %v", what, err)
			}
			if r.Balanced {
				return true
			}
			if what == "untouched" {
				rt.Fatalf("%s: %+v", what, r)
			}
			return false
		}
		prove("untouched", w.f, reconcile.Rows)
		names := slices.Sorted(maps.Keys(hotEdits))
		for range editsOfARun {
			name := rapid.SampledFrom(names).Draw(rt, "edit")
			frozen := w.f.Snapshots(w.c)
			sh := frozen.Shards[paytest.FakeKey{Campaign: w.c.ID, Shard: w.shard(rt)}]
			hotEdits[name](&hotEdit{world: w, rt: rt, frozen: frozen, FakeShard: sh})
			if reflect.DeepEqual(frozen.Shards, w.f.Snapshots(w.c).Shards) {
				continue // there was nothing to change
			}
			tried[name]++
			if prove(name, frozen, reconcile.Rows) || !slices.Contains(ofPlayers, name) && prove(name, frozen,
				reconcile.Sums) {
				rt.Fatalf("%s: not found; shard %d is now %+v", name, sh.Snapshot.Shard, sh)
			}
		}
		w.removeGivenUp() // else packets without a dead letter would wait in the outbox
		for range editsOfARun {
			statement := rapid.SampledFrom(bookEdits).Draw(rt, "statement")
			kept := w.keep()
			n, err := b.DB.Exec(t.Context(), statement, w.c.ID)
			if err != nil {
				rt.Fatalf("%s: %v", statement, err)
			}
			if n == 0 {
				continue
			}
			tried[statement]++
			if prove(statement, w.f, reconcile.Rows) {
				rt.Fatalf("%s: not found", statement)
			}
			kept()
		}
	})
	t.Logf("%d changes were tried, of %d of Redis and %d of the ledger", len(tried), len(hotEdits), len(bookEdits))
	b.CheckBooks(t)
}

// editsOfARun is the number of edits of each kind in a run.
const editsOfARun = 10

// removeGivenUp removes dead-lettered entries from the outboxes.
func (w *world) removeGivenUp() {
	for shard := range w.c.Shards {
		for _, e := range w.f.Entries(paytest.FakeKey{Campaign: w.c.ID, Shard: shard}) {
			if w.b.Count(w.t, "SELECT COUNT(*) FROM dead_letter WHERE source = ?", e.Ref.String()) > 0 {
				w.must(w.f.Remove(context.Background(), []rain.EntryRef{e.Ref}))
			}
		}
	}
}

// tampered are the edited tables.
var tampered = []string{"payout", "move", "reclaim", "dead_letter"}

// keep copies the campaign's rows; restore brings them back.
func (w *world) keep() (restore func()) {
	exec := func(statement string, args ...any) {
		_, err := w.b.DB.Exec(context.Background(), statement, args...)
		w.must(err)
	}
	for _, table := range tampered {
		exec("DELETE FROM kept_" + table)
		exec("INSERT INTO kept_"+table+" "+allOf(table)+" WHERE campaign_id = ?", w.c.ID)
	}
	return func() {
		for _, table := range tampered {
			exec("DELETE FROM "+table+" WHERE campaign_id = ?", w.c.ID)
			exec("INSERT INTO " + table + " " + allOf("kept_"+table))
		}
	}
}

// bookEdits are edits of one row of the ledger.
var bookEdits = makeBookEdits()

// makeBookEdits makes a statement of each new value; "" deletes the row.
func makeBookEdits() (all []string) {
	add := func(table, key, where string, values ...string) {
		for _, set := range values {
			edit := "UPDATE " + table + " SET " + set
			if set == "" {
				edit = "DELETE FROM " + table
			}
			all = append(all, edit+" WHERE "+key+" = (SELECT "+key+" FROM "+table+" WHERE campaign_id = ? "+where+
				" ORDER BY "+key+" LIMIT 1)")
		}
	}
	add("payout", "claim", "", "", "user_id = 'x'", "drop_id = '999.9'", "shard = shard + 1", "won_at = won_at - 1",
		"entry_seq = entry_seq + 1", "packet = packet + 1000", "amount = amount + 1")
	add("move", "id", "", "numbers = '0-0', packets = 1", "packets = packets + 1",
		"from_shard = to_shard, to_shard = from_shard", "to_shard = 99", "from_number = 0",
		"from_number = from_number + 1000000000000000")
	// Without its row, a move that was only lent looks like one whose row comes later.
	add("move", "id", "AND done_at > 0", "")
	add("move", "id", "AND done_at > 0 AND to_number > 0 AND NOT EXISTS (SELECT 1 FROM shard_epoch e WHERE "+
		"e.campaign_id = move.campaign_id AND e.shard = move.to_shard AND e.barrier_ms > 0)",
		"to_number = to_number + 1000000000000000", "done_at = 0")
	add("reclaim", "entry_seq || closed_at || shard || campaign_id", "", "", "packets = packets + 1",
		"amount = amount + 1", "numbers = '0-0'", "shard = shard + 1", "numbers = 'x'")
	add("dead_letter", "id", "AND resolved_at = 0", "", "resolved_at = 1", "shard = 99")
	add("dead_letter", "id", "AND resolved_at = 0 AND kind = 'pay' AND NOT EXISTS (SELECT 1 FROM payout p WHERE "+
		"p.campaign_id = dead_letter.campaign_id AND p.packet = dead_letter.packet)",
		"packet = (packet + 1) % 60", "user_id = 'x'", "amount = amount + 1", "kind = 'forged'")
	return all
}
