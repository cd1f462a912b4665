package campaigns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// with is an entry with its one win's packet changed: a line's seal is right with any packet.
func with(entries []rain.Entry, packet int) []rain.Entry {
	e := entries[0]
	e.Wins = slices.Clone(e.Wins)
	e.Wins[0].Packet = packet
	ms, _, _ := strings.Cut(e.Ref.ID, "-")
	e.Ref.ID = ms + "-77" // no copy of the other one
	return []rain.Entry{e}
}

// TestNoLetterStopsARebuild: Redis was rolled back, and paid packets were won again. An attacker has added sealed lines
// with other packets. All of these wait as dead letters, which no retry can pay. Each shard is rebuilt. A packet counts
// as won once over all shards, and the campaign is sold out with its last packet.
func TestNoLetterStopsARebuild(t *testing.T) {
	for name, redis := range forgetful {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, redis(t))
			spec := servertest.EvenSpec(200, 20, 2)
			spec.WinsPerUser = 5
			c := l.raining(spec)
			user := func(name string, shard int) string { return paytest.Home(name, shard, 2) }
			paid := l.win(c, 0, user("paid", 0))
			again, other := l.win(c, 0, user("again", 0)), l.win(c, 0, user("other", 1))
			held, rival := l.win(c, 1, user("held", 0)), l.win(c, 1, user("rival", 1))
			l.post(paid)
			packet := paid[0].Wins[0].Packet
			for name, entries := range map[string][]rain.Entry{
				"paid, and won again":                  with(again, packet),
				"paid, and won again on another shard": with(other, packet),
				"a line with another packet":           with(paid, 7),
				"a line with no packet":                with(again, c.Packets),
			} {
				if p := l.post(entries); len(p.Dead) != 1 || p.Dead[0].Kind != posting.LetterPay {
					t.Fatalf("%s: %+v", name, p)
				}
			}
			// A retry may still pay these: one packet of two players, and two packets of one player's drop.
			for _, e := range slices.Concat(held, with(rival, held[0].Wins[0].Packet), with(held, 9)) {
				tried, err := l.ledger.Poster.Attempt(t.Context(), e, errors.New("refused"), 1)
				if err != nil || len(tried.Dead) != 1 {
					t.Fatalf("%+v, %v", tried, err)
				}
			}
			l.forget()
			if done := l.rebuild(c.ID); len(done.Shards) != 2 || done.Wins != 3 || done.Packets != 17 {
				t.Errorf("rebuilt: %+v", done)
			}
			sum := func() (won int, sold bool) {
				levels, err := readShards(t.Context(), l.grabber, c)
				testenv.Must(t, err)
				for _, s := range levels {
					won += s.Won
				}
				return won, soldOut(levels, c.Packets)
			}
			if won, _ := sum(); won != 3 {
				t.Errorf("%d packets count as won", won)
			}
			player := held[0].Wins[0].User
			records, total, err := l.grabber.Records(t.Context(), c, player, 10)
			if err != nil || len(records) != 1 || total != 1 || records[0].Win.Packet != held[0].Wins[0].Packet {
				t.Errorf("%s knows of %+v, %d, %v", player, records, total, err)
			}
			won, shards := 3, []int{0, 0}
			for n := 0; won < c.Packets && n < 1000; n++ {
				if _, sold := sum(); sold {
					t.Fatalf("sold out with %d of %d packets won", won, c.Packets)
				}
				drop := rain.DropID{N: c.Current().FirstWave, K: 2}.String()
				if grabtest.TapOn(l.grabber.Gate(c), user(fmt.Sprint("v", n), n%2), drop).Outcome == outcome.Won {
					shards[n%2]++
					won++
				}
			}
			if won, sold := sum(); won != c.Packets || !sold || shards[0] == 0 || shards[1] == 0 {
				t.Errorf("%d won, on the shards %v, sold out %t", won, shards, sold)
			}
			// The promise is kept whenever a person asks for it.
			claim := rain.ClaimID(c.ID, held[0].Wins[0].Packet)
			settled, err := paytest.Retry(t.Context(), l.ledger.Approvals, claim)
			if err != nil || len(settled) != 1 || settled[0].User != player {
				t.Errorf("%+v, %v", settled, err)
			}
		})
	}
}
