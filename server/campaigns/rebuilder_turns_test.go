package campaigns

import (
	"context"
	"errors"
	"testing"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/servertest"
)

// TestOneNodeRebuildsAtATime: nodes that see the loss while one rebuilds wait for it, and do not take over from it.
// Else none of many would come to an end where a rebuild takes longer than the time until the next one tries.
func TestOneNodeRebuildsAtATime(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 2))
	first, second := l.rebuilderWith(l.ledger.Leases, "first"), l.rebuilderWith(l.ledger.Leases, "second")
	l.forget()
	tries := 0
	l.at(first, "begin", func(context.Context) error {
		tries++
		for _, node := range []*Rebuilder{second, first} { // first: an operator asks this node
			testenv.WantErr(t, testenv.Err(node.Rebuild(t.Context(), c.ID)), ErrRebuilding, "while another rebuilds")
		}
		return nil
	})
	if done, err := first.Rebuild(t.Context(), c.ID); err != nil || len(done.Shards) != 2 || tries != 2 {
		t.Errorf("rebuilt: %+v, %v, with %d shards begun", done, err, tries)
	}
	l.forget() // a finished rebuild does not delay the next one
	if done, err := second.Rebuild(t.Context(), c.ID); err != nil || len(done.Shards) != 2 {
		t.Errorf("rebuilt by the other one: %+v, %v", done, err)
	}
}

// TestARebuildIsCarriedOnByAnother: who has lost the lease, because the database was away or the node hung, begins no
// other shard.
func TestARebuildIsCarriedOnByAnother(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(100, 10, 2))
	l.forget()
	leases := &passedOn{taken: make(chan struct{})}
	node := l.rebuilderWith(leases, "node")
	l.at(node, "begin", func(ctx context.Context) error {
		<-leases.taken
		<-ctx.Done() // the work ends with the lease
		return ctx.Err()
	})
	if done, err := node.Rebuild(t.Context(), c.ID); !errors.Is(err, ErrRebuilding) || len(done.Shards) > 0 {
		t.Errorf("rebuilt without a lease: %+v, %v", done, err)
	}
	if done := l.rebuild(c.ID); len(done.Shards) != 2 {
		t.Errorf("rebuilt: %+v", done)
	}
}

// passedOn are leases that go to another node when they are to be renewed.
type passedOn struct {
	servertest.Leases

	asked int
	taken chan struct{}
}

func (p *passedOn) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	p.asked++
	if p.asked == 2 {
		close(p.taken)
	}
	if p.asked < 2 {
		return ledger.Tenure{Term: 1}, nil
	}
	return ledger.Tenure{}, nil
}

// jammed is a Redis that restores all shards but one.
type jammed struct {
	Restorer

	shard int
	why   error
}

func (s jammed) RestoreAs(ctx context.Context, c *rain.Campaign, shard int,
	what func(context.Context) (store.Restoration, error)) error {
	if shard == s.shard {
		return s.why
	}
	return s.Restorer.RestoreAs(ctx, c, shard, what)
}

// TestAShardThatCannotBeRestoredHoldsUpNoOther: the others play on.
func TestAShardThatCannotBeRestoredHoldsUpNoOther(t *testing.T) {
	l := newLossy(t, forgetful["in-process"](t))
	c := l.raining(servertest.EvenSpec(300, 30, 3))
	l.forget()
	redis := l.rebuilder.o.Restorer
	l.rebuilder.o.Restorer = jammed{redis, 0, store.ErrUnsettled}
	done, err := l.rebuilder.Rebuild(t.Context(), c.ID)
	if !errors.Is(err, store.ErrUnsettled) || len(done.Shards) != 2 {
		t.Fatalf("rebuilt %+v, %v", done, err)
	}
	won := 0
	for _, user := range users("u", 20) {
		if rain.HomeShard(user, 3) != 0 {
			won += len(l.win(c, 0, user))
		}
	}
	if won == 0 {
		t.Error("no win on the remaining shards")
	}
	l.rebuilder.o.Restorer = redis
	if done := l.rebuild(c.ID); len(done.Shards) != 1 {
		t.Errorf("rebuilt: %+v", done)
	}
}
