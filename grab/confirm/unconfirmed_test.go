package confirm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

// A player without a win costs one call. If a player's wins cannot be read, there is no answer.
func TestWinsThatAreNotThereAreNotConfirmed(t *testing.T) {
	m := &fakeMaster{}
	s, _ := atMaster(t, m, false)
	testenv.Must(t, s.Load(t.Context()))
	m.asked = nil
	confirmer, c := New(s, Replica, nil, nil), threePackets()
	if err := confirmer.Confirm(t.Context(), "c", 0, &Pending{}); err != nil || m.asked != nil {
		t.Errorf("nothing to confirm: %v, asked %q", err, m.asked)
	}
	if wins, err := confirmer.PlayersWins(t.Context(), c, "p"); err != nil || wins.Total != 0 ||
		wins.Confirmed != nil ||
		len(m.asked) != 1 {
		t.Errorf("%v, %v; asked %q", wins, err, m.asked)
	}
	m.failed = errors.New("away")
	testenv.WantErr(t, testenv.Err(confirmer.PlayersWins(t.Context(), c, "p")), m.failed)
	if err := NewOutbox(confirmer).MayLeave(t.Context(), []rain.Entry{*fresh("9-1", "p", 3)}); !errors.Is(err,
		m.failed) {
		t.Errorf("may leave: %v", err)
	}
}

// If the entry of an older win cannot be read, the win is not confirmed and the error is returned.
func TestAnOutboxThatCannotBeReadConfirmsNothing(t *testing.T) {
	m := &fakeMaster{info: alone, failing: "xrange", failed: errors.New("away")}
	s, rdb := atMaster(t, m, false)
	hasWon(t, rdb, s.Keys("c", 0), "p")
	var p Pending
	p.Add("9-1", rain.Win{User: "p", Drop: "7.3", Packet: 1, Amount: 5}, nil)
	err := New(s, Stream, publisher(nil), nil).Confirm(t.Context(), "c", 0, &p)
	if !errors.Is(err, m.failed) || p.Confirmed("9-1") {
		t.Errorf("%v, confirmed %t", err, p.Confirmed("9-1"))
	}
}

// If the stream acknowledges no entry, the outbox is not read.
func TestWithoutTheStreamNothingIsLookedFor(t *testing.T) {
	m, away := &fakeMaster{info: alone}, errors.New("away")
	s, rdb := atMaster(t, m, false)
	hasWon(t, rdb, s.Keys("c", 0), "p")
	var p Pending
	e := fresh("9-1", "p", 1)
	p.Add(e.Ref.ID, e.Wins[0], e)
	err := New(s, Stream, publisher(func(context.Context, rain.Entry) error { return away }), nil).
		Confirm(t.Context(), "c", 0, &p)
	if !errors.Is(err, away) || p.Confirmed("9-1") || !slices.Equal(m.asked, []string{"hmget " + winLook}) {
		t.Errorf("%v, confirmed %t, asked %q", err, p.Confirmed("9-1"), m.asked)
	}
}

// Entries may leave Redis if they outlive its master. In the mode Redis they always may.
func TestWhatMayLeaveRedis(t *testing.T) {
	const look, wait = "xrange hmget info", "set xrange hmget role wait 1 role"
	won := []string{"at", "8", "packets", "1-1", "wins", "seal 7.3 p"}
	back := []string{"at", "8", "packets", "0-2", "reclaim", "seal"}
	for _, c := range []struct {
		name  string
		mode  Mode
		m     fakeMaster
		entry []string // its fields and their values; nil: no entry
		want  error
		asked []string
	}{
		{"Redis", Redis, fakeMaster{}, won, nil, nil},
		{"nothing", Stream, fakeMaster{}, nil, nil, nil},
		{"a replica", Replica, fakeMaster{info: followed, acks: 1}, won, nil, []string{look, wait}},
		{"none in time", Replica, fakeMaster{info: followed}, won, errNoReplica, []string{look, wait}},
		{"one of two", Replica, fakeMaster{info: twice, acks: 1}, won, errNoReplica,
			[]string{look, "set xrange hmget role wait 2 role"}},
		{"alone", Stream, fakeMaster{info: alone}, won, nil, []string{"xrange hmget " + winLook}},
		{"a reclaim", Replica, fakeMaster{info: followed, acks: 1}, back, nil, []string{look, wait}},
		{"a reclaim, and none in time", Replica, fakeMaster{info: followed}, back, errNoReplica, []string{look, wait}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, rdb := atMaster(t, &c.m, false)
			key := s.Keys("c", 0).Outbox
			if c.entry != nil {
				testenv.Must(t, rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: c.entry}).Err())
			}
			o := NewOutbox(New(s, c.mode, publisher(nil), nil))
			entries, _, err := o.Page(t.Context(), "c", 0, "", 10)
			if err != nil || (len(entries) == 1) != (c.entry != nil) {
				t.Fatalf("read %+v (%v)", entries, err)
			}
			c.m.asked = nil
			testenv.WantErr(t, o.MayLeave(t.Context(), entries), c.want, "may leave")
			testenv.Equal(t, c.m.asked, c.asked, "asked")
		})
	}
}

// Each entry is confirmed by itself. For the entry of a batch, all wins go to the stream. For an older entry, it is the
// content of the outbox.
func TestPendingEntries(t *testing.T) {
	win := func(packet int) rain.Win { return rain.Win{User: "p", Drop: "7.3", Packet: packet, Amount: 5} }
	var p Pending
	if p.Confirmed("9-1") {
		t.Error("nothing is pending, and confirmed")
	}
	written := fresh("9-1", "p", 3)
	p.Add("9-1", written.Wins[0], written)
	p.Add("8-1", win(7), nil)
	p.Add("8-1", win(8), nil)
	p.Add("9-1", win(9), nil) // is one of a batch all the same
	if len(p.entries) != 2 || p.entries[0].sample.Win != written.Wins[0] || p.entries[1].sample.Win != win(7) ||
		p.entries[0].written != written || p.entries[1].written != nil {
		t.Errorf("%+v, %+v", p.entries[0], p.entries[1])
	}
	p.entries[1].confirmed = true
	if p.Confirmed("9-1") || !p.Confirmed("8-1") || p.Confirmed("7-1") {
		t.Error("the wrong one is confirmed")
	}
}

// TestWhatIsLentMustLast: packets that no failover candidate has count as not lent, also if the move is requested
// again. Once a candidate has the move, the same packets are lent.
func TestWhatIsLentMustLast(t *testing.T) {
	m := &fakeMaster{info: followed}
	s, rdb := atMaster(t, m, false)
	k := s.Keys("c", 0)
	err := errors.Join(
		rdb.HSet(t.Context(), k.State, "status", "open", "left", 10, "moves", 0, "epoch", 0, "first_wave", 1).Err(),
		rdb.RPush(t.Context(), k.Stock, "0-9", ".").Err())
	testenv.Must(t, err)
	moves := NewMoves(New(s, Replica, nil, nil))
	for _, count := range []int{4, 0} {
		testenv.WantErr(t, testenv.Err(moves.Lend(t.Context(), "c", 0, 1, "m", count)), errNoReplica, "no candidate")
	}
	m.acks = 1
	lent, err := moves.Lend(t.Context(), "c", 0, 1, "m", 0)
	if err != nil || lent == nil || lent.Numbers.String() != "6-9" {
		t.Errorf("the candidate has it: %+v, %v", lent, err)
	}
	none, err := moves.Lend(t.Context(), "c", 0, 1, "n", 0)
	left, unread := rdb.LRange(t.Context(), k.Stock, 0, -1).Result()
	numbers, bad := rain.ParseNumbers(left[0], 10)
	if none != nil || errors.Join(err, unread, bad) != nil || numbers.Count() != 6 {
		t.Errorf("asked for a missing move: %+v, %v; %q are left", none, err, left)
	}
}

// A few entries are in flight to the stream at a time: more than one, and fewer than all.
func TestEightEntriesArePublishedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{publisher: publisher(func(context.Context, rain.Entry) error {
			time.Sleep(time.Second) //nolint:forbidigo // the stream takes a second of fake time
			return nil
		})}
		began := time.Now()
		entries := make([]*entry, 17)
		for i := range entries {
			entries[i] = &entry{written: &rain.Entry{}}
		}
		done, err := s.publish(t.Context(), entries, 1)
		if took := time.Since(began); err != nil || len(done) != len(entries) || took != 3*time.Second {
			t.Errorf("%d of 17 in %v (%v)", len(done), took, err)
		}
	})
}
