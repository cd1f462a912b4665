package confirm

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
	"redrain/rain"
)

// A player who has won nothing costs one question, and one whose wins cannot be read has no answer.
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

// An older win whose entry cannot be looked up is not told, and the reason is.
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

// Where no entry is acknowledged there is nothing to look for.
func TestWithoutTheStreamNothingIsLookedFor(t *testing.T) {
	m, away := &fakeMaster{info: alone}, errors.New("away")
	s, rdb := atMaster(t, m, false)
	hasWon(t, rdb, s.Keys("c", 0), "p")
	var p Pending
	e := fresh("9-1", "p", 1)
	p.Add(e.Ref.ID, e.Wins[0], e)
	err := New(s, Stream, publisher(func(context.Context, rain.Entry) error { return away }), nil).
		Confirm(t.Context(), "c", 0, &p)
	if !errors.Is(err, away) || p.Confirmed("9-1") || !slices.Equal(m.asked, []string{"hmget info"}) {
		t.Errorf("%v, confirmed %t, asked %q", err, p.Confirmed("9-1"), m.asked)
	}
}

// What is read leaves Redis when it outlives its master, unless Redis alone is asked for.
func TestWhatMayLeaveRedis(t *testing.T) {
	const look, wait = "xrange hmget info", "set xrange hmget role wait 1 role"
	won := []string{"at", "8", "packets", "1-1", "wins", "seal 7.3 p"}
	back := []string{"at", "8", "packets", "0-2", "reclaim", "seal"}
	for _, c := range []struct {
		name  string
		mode  Mode
		m     fakeMaster
		entry []string // its fields and what they hold; none
		want  error
		asked []string
	}{
		{"Redis", Redis, fakeMaster{}, won, nil, nil},
		{"nothing", Stream, fakeMaster{}, nil, nil, nil},
		{"a replica", Replica, fakeMaster{info: followed, acks: 1}, won, nil, []string{look, wait}},
		{"none in time", Replica, fakeMaster{info: followed}, won, errNoReplica, []string{look, wait}},
		{"one of two", Replica, fakeMaster{info: twice, acks: 1}, won, errNoReplica,
			[]string{look, "set xrange hmget role wait 2 role"}},
		{"alone", Stream, fakeMaster{info: alone}, won, nil, []string{look}},
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

// Entries are confirmed each for itself. Of the entry of a batch all wins go to the stream, of an older one what the
// outbox has.
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
