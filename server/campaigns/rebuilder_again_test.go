package campaigns

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestASecondLossWhileARebuilderHangs: one rebuilder has seen the loss and hangs. Another one rebuilds the shard. A
// player wins on it, and the win is reported, because the stream has it. Then Redis loses the shard again, and the
// first rebuilder goes on. Its view of the stream is old: it has to read the stream again for the second loss.
func TestASecondLossWhileARebuilderHangs(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	l.forget()
	var told []rain.Entry
	first, second := l.rebuilder, l.another()
	l.at(first, "begin", func(context.Context) error {
		testenv.Must(t, testenv.Err(second.Rebuild(t.Context(), c.ID)))
		told = l.win(c, 0, "told")
		l.publish(told)
		l.forget()
		return nil
	})
	if done := l.rebuild(c.ID); done.Wins != 1 || done.Packets != 9 {
		t.Errorf("rebuilt: %+v", done)
	}
	if p := l.post(told); len(p.Settled) != 1 || len(p.Void)+len(p.Dead) != 0 {
		t.Errorf("a reported win: %+v", p)
	}
	if got := l.books(c); !got.Balanced || got.Paid != 10 {
		t.Errorf("the books: %+v", got)
	}
}

// TestALostShardIsNotDrained: what dead letters ask for may be more than anybody was ever promised. It must not
// pass for the stock that Redis has lost: that would never be accounted for any more.
func TestALostShardIsNotDrained(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 1))
	l.post(l.win(c, 0, "u"))
	for i := range 9 { // packet 0 is paid to u
		ref := rain.EntryRef{Campaign: c.ID, ID: fmt.Sprintf("9-%d", i)}
		if p := l.post([]rain.Entry{{Ref: ref, Wins: []rain.Win{{User: fmt.Sprintf("v%d", i), Packet: 0, Amount: 10,
			Drop: "0.1"}}}}); len(p.Dead) != 1 {
			t.Fatalf("%+v", p)
		}
	}
	l.forget()
	if _, err := l.service.Close(t.Context(), c.ID); !errors.Is(err, store.ErrNoState) {
		t.Fatal(err)
	}
	if after, err := l.keep(c.ID); err != nil || after.Drained {
		t.Errorf("drained %v, %v", after.Drained, err)
	}
	if done := l.rebuild(c.ID); done.Packets != 9 {
		t.Errorf("rebuilt: %+v", done)
	}
	var err error
	for range 2 {
		if c, err = l.keep(c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.books(c); !c.Drained || got.Difference != 0 { // the dead letters are a finding
		t.Errorf("drained %v, the books: %+v", c.Drained, got)
	}
}
