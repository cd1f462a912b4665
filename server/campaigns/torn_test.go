package campaigns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/servertest"
)

// letters returns the waiting dead letters.
func (l *lossy) letters() []posting.DeadLetter {
	l.Helper()
	list, err := posting.LetterTable.List(l.Context(), l.db, "WHERE resolved_at = 0 ORDER BY id")
	testenv.Must(l, err)
	return list
}

// nothingWaits fails the test if an entry waits in an outbox.
func (l *lossy) nothingWaits(c *rain.Campaign) {
	l.Helper()
	n, err := l.grabber.Pending(l.Context(), c)
	testenv.Must(l, err)
	testenv.Equal(l, n, 0, "entries that wait")
}

func (l *lossy) wantBalance(user string, want rain.Money) {
	l.Helper()
	got, err := l.ledger.Claims.UserBalance(l.Context(), user)
	testenv.Must(l, err)
	testenv.Equal(l, got, want, "balance of %s", user)
}

// scribble adds an entry to an outbox by hand.
func (l *lossy) scribble(c *rain.Campaign, shard int, id string, fields ...any) {
	l.Helper()
	err := l.rdb.XAdd(l.Context(), &redis.XAddArgs{Stream: l.grabber.Keys(c.ID, shard).Outbox, ID: id,
		Values: fields}).Err()
	testenv.Must(l, err)
}

// TestARebuildTakesAsideWhatCannotBeRead: more than a page of forged or tampered entries come before the valid ones.
// The rebuild goes on, pays reported wins, and keeps the unreadable entries as dead letters.
func TestARebuildTakesAsideWhatCannotBeRead(t *testing.T) {
	for name, redis := range forgetful {
		t.Run(name, func(t *testing.T) {
			l := newLossy(t, redis(t))
			c := l.raining(servertest.EvenSpec(400, 40, 2))
			const garbage = leftOverAtOnce + 20
			outbox := l.grabber.Keys(c.ID, 0).Outbox
			for i := range garbage {
				l.scribble(c, 0, fmt.Sprintf("1-%d", i+1), "pot", fmt.Sprint("of gold ", i))
			}
			told, changed := paytest.Home("told", 0, 2), paytest.Home("changed", 0, 2)
			entries := l.win(c, 0, told, changed)
			if len(entries) != 2 {
				t.Fatalf("%+v", entries)
			}
			// The second one's packets are tampered with, so the entry is unreadable. Its player has received the win.
			second := entries[1]
			found, err := l.rdb.XRange(t.Context(), outbox, second.Ref.ID, second.Ref.ID).Result()
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			values := found[0].Values
			testenv.Must(t, l.rdb.Del(t.Context(), outbox).Err())
			for i := range garbage {
				l.scribble(c, 0, fmt.Sprintf("1-%d", i+1), "pot", fmt.Sprint("of gold ", i))
			}
			l.scribble(c, 0, second.Ref.ID, "at", values["at"], "packets", "gold", "wins", values["wins"])
			testenv.Must(t, l.rdb.Del(t.Context(), l.grabber.Keys(c.ID, 0).State).Err())
			l.publish(entries[:1])
			done := l.rebuild(c.ID)
			if len(done.Shards) != 1 || done.Wins != 2 || done.Packets != 18 {
				t.Errorf("rebuilt: %+v", done)
			}
			l.nothingWaits(c)
			list := l.letters()
			if len(list) != garbage+1 {
				t.Fatalf("%d dead letters", len(list))
			}
			for _, d := range list {
				if d.Kind != posting.LetterMessage || !strings.HasPrefix(d.Source, "outbox "+c.ID) ||
					len(d.Payload) < 10 {
					t.Errorf("%+v", d)
				}
			}
			testenv.Contains(t, string(list[garbage].Payload), changed, "the last dead letter")
			for _, user := range []string{told, changed} {
				l.wantBalance(user, 10)
			}
			l.alarm("dead_letter", c.ID)
			if got := l.books(c); got.Difference != 0 || got.Paid != 20 {
				t.Errorf("the books: %+v", got)
			}
		})
	}
}

// TestATornEntryOfALivingShard: a forged entry delays the end of its campaign. The rebuild command dead-letters it, and
// reports that nothing is lost. A forged line of the wins hash is not paid either, because no gateway has sealed it.
func TestATornEntryOfALivingShard(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(400, 40, 2))
	drop, user := rain.DropID{N: c.Current().FirstWave}.String(), paytest.Home("thief", 1, 2)
	l.scribble(c, 1, "5-1", "at", fmt.Sprint(l.now), "packets", "x", "wins", "0123456789abcdef "+drop+" "+user)
	err := l.rdb.HSet(t.Context(), l.grabber.Keys(c.ID, 1).Wins, user+"\n"+drop, "30 5-1 ").Err()
	testenv.Must(t, err)
	testenv.WantErr(t, testenv.Err(l.rebuilder.Rebuild(t.Context(), c.ID)), store.ErrAlive)
	l.alarm("dead_letter", c.ID)
	l.nothingWaits(c)
	list := l.letters()
	if len(list) != 2 || list[0].Kind != posting.LetterForged || list[1].Kind != posting.LetterMessage {
		t.Errorf("%+v", list)
	}
	l.wantBalance(user, 0)
}
