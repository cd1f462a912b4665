package campaigns

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestAFileFromBeforeARebuild: a Redis comes back with its file of before a rebuild, after which nothing was posted and
// nothing moved. Its packets are on offer a second time, so the shard takes no taps until it is rebuilt again; also
// where somebody has won there before that was noticed.
func TestAFileFromBeforeARebuild(t *testing.T) {
	for name, played := range map[string]bool{"as it was": false, "played on": true} {
		t.Run(name, func(t *testing.T) {
			server := testenv.StartRedis(t)
			l := newLossy(t, server.Addr)
			c := l.raining(servertest.EvenSpec(200, 20, 2))
			w := NewWatch(WatchOptions{Seen: l.ledger.Moves, Loser: l.grabber.Moves, Sums: l.grabber.Sums,
				Known: l.registry, Bus: l.bus, Log: slog.New(slog.DiscardHandler)})
			look := func() {
				t.Helper()
				if _, err := w.look(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
			old := paytest.Home("v", 0, 2)
			first := l.win(c, 1, old)
			l.post(first)

			kept := t.TempDir()
			server.Stop()
			if err := os.CopyFS(kept, os.DirFS(server.Data())); err != nil {
				t.Fatal(err)
			}
			server.Start()
			l.loseShard(c, 0)
			look()
			l.quiet() // it is lost, and not in the past
			l.rebuild(c.ID)
			look()
			l.quiet()
			_, rebuilt, _, err := l.grabber.Newest(t.Context(), c, 0)
			if err != nil {
				t.Fatal(err)
			}

			server.LoseData()
			if err := os.CopyFS(server.Data(), os.DirFS(kept)); err != nil {
				t.Fatal(err)
			}
			server.Start()
			entry, epoch, found, err := l.grabber.Newest(t.Context(), c, 0)
			if err != nil || !found || epoch >= rebuilt || entry != first[0].Ref.ID {
				t.Fatalf("the older file has %s of %d, %t (%v)", entry, epoch, found, err)
			}
			if played {
				later := fmt.Sprintf("%d-0", rebuilt+60_000)
				if err := l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 0).State, "last", later).Err(); err != nil {
					t.Fatal(err)
				}
			}
			look()
			l.alarm("redis_went_back", c.ID)
			look()
			l.quiet()
			drop := rain.DropID{N: c.Current().FirstWave, K: 2}.String()
			if r := grabtest.TapOn(l.grabber.Gate(c), paytest.Home("w", 0, 2), drop); r.Outcome != outcome.Unavailable {
				t.Errorf("a tap: %+v", r)
			}
			l.rebuild(c.ID)
			look()
			l.quiet()
			if again := grabtest.TapOn(l.grabber.Gate(c), old, first[0].Wins[0].Drop); again.Outcome != outcome.Won ||
				again.Packet != first[0].Wins[0].Packet {
				t.Errorf("who had won before has now %+v", again)
			}
			if got := l.books(c); !got.Balanced || got.Unsettled != 0 || got.Dead != 0 {
				t.Errorf("the books: %+v", got)
			}
		})
	}
}
