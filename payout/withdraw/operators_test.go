package withdraw

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"redrain/payout/ledger"
	"redrain/rain"
)

// TestWhateverOperatorsDo: two operators hold, release and end withdrawals at random. Nodes pay some of them, make
// dead letters of others, and record results late. A withdrawal ends as paid or returned only by an order of two
// people, in time and without an event between. Such an order is final, and the money moves once.
func TestWhateverOperatorsDo(t *testing.T) {
	onEach(t, 60, func(m *world) {
		m.attempts = 1 // so that there are dead letters
		m.start()
		for range 3 {
			m.withdraw(m.rt)
		}
		m.rt.Repeat(map[string]func(*rapid.T){
			"withdraw":   m.withdraw,
			"bury":       m.deadLetter,
			"pay":        m.pay,
			"die":        m.stop,
			"late":       m.remember,
			"confirm":    m.confirm,
			"wait":       m.wait,
			"redrive":    m.redrive,
			"hold":       m.office.hold,
			"release":    m.office.release,
			"order":      m.office.give,
			"order more": m.office.give, // often enough for two people to meet
			"order most": m.office.give,
			"order old":  m.office.confirmOld,
			"":           m.check,
		})
		m.heal()
	})
}

// deadLetter makes a receiver give no clear answer for all tries.
func (m *world) deadLetter(rt *rapid.T) {
	for _, w := range m.lease(rt, m.nodes[m.anyNode(rt)]) {
		m.must(m.b.RecordDead(rt.Context(), w, "no clear answer"))
	}
}

// orderStands is the time in the model for the second person's confirmation.
const orderStands = 24 * time.Hour

// office is the two operators of a world. They act at random, without the receivers' books. Some acts are aborted
// before they are written.
type office struct {
	*world

	desk   *ledger.Withdrawals // its clock aborts the act
	orders *ledger.Approvals   // with the same clock
	looks  int                 // readings of the clock until the act is aborted; 0: never
	cut    context.CancelFunc

	asked map[ledger.Deed]askedFor
	done  map[string]ledger.Act // operations by two people
}

// askedFor is the newest order of its kind that one person has requested.
type askedFor struct {
	order string
	by    string
	at    int64
	lines int // of the withdrawal's history
}

func newOffice(m *world) *office {
	o := &office{world: m, asked: map[ledger.Deed]askedFor{}, done: map[string]ledger.Act{}}
	all := ledger.New(m.b.DB, func() int64 {
		if o.looks--; o.looks == 0 {
			o.cut()
		}
		return m.b.Clock.Now()
	}, rain.NewAmountsCache())
	o.desk, o.orders = all.Withdrawals, all.Approvals
	return o
}

// act does one operator's act on a withdrawal. should returns the expected state after it, or the expected error. act
// reports whether it was done.
func (o *office) act(rt *rapid.T, do func(ctx context.Context, id string, by ledger.Person) error,
	should func(w ledger.Withdrawal, by string) (ledger.WithdrawalState, error)) (
	id string, by ledger.Person, acted bool) {
	if len(o.made) == 0 {
		rt.Skip("nothing to act on")
	}
	id = rapid.SampledFrom(o.candidates()).Draw(rt, "withdrawal")
	by = ledger.Person{Name: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "operator"), Reason: "seen"}
	was := o.read(id)
	state, want := should(was, by.Name)
	ctx, cut := context.WithCancel(rt.Context())
	defer cut()
	o.cut, o.looks = cut, max(0, rapid.IntRange(-9, 5).Draw(rt, "cut off at look"))
	err := do(ctx, id, by)
	is := o.read(id)
	switch {
	case ctx.Err() != nil && err != nil:
		if is != was {
			rt.Fatalf("a cut-off call has made %+v of %+v", is, was)
		}
		return id, by, false
	case !errors.Is(err, want):
		rt.Fatalf("%s acts on %+v: %v, want %v", by.Name, was, err, want)
	case want != nil && is != was:
		rt.Fatalf("a refused call has made %+v of %+v", is, was)
	case want == nil && is.State != state:
		rt.Fatalf("%s has made %+v of %+v, want it %s", by.Name, is, was, state)
	}
	return id, by, want == nil
}

// candidates are all withdrawals, or only those that wait for operators, so that their orders meet.
func (o *office) candidates() []string {
	waiting := slices.DeleteFunc(slices.Clone(o.made), func(id string) bool {
		w := o.read(id)
		return !w.Dead && w.State != ledger.WithdrawalHeld
	})
	if len(waiting) > 0 && rapid.IntRange(0, 4).Draw(o.rt, "any") > 0 {
		return waiting
	}
	return o.made
}

func (o *office) hold(rt *rapid.T) {
	o.act(rt, o.desk.Hold, func(w ledger.Withdrawal, _ string) (ledger.WithdrawalState, error) {
		if w.State != ledger.WithdrawalRequested && w.State != ledger.WithdrawalHeld {
			return "", ledger.ErrAlreadySent
		}
		return ledger.WithdrawalHeld, nil
	})
}

func (o *office) release(rt *rapid.T) {
	o.act(rt, o.desk.Release, func(w ledger.Withdrawal, _ string) (ledger.WithdrawalState, error) {
		if w.State != ledger.WithdrawalHeld {
			return "", ledger.ErrNotHeld
		}
		return ledger.WithdrawalRequested, nil
	})
}

// give is an order by two people: the first requests it, the other confirms it.
func (o *office) give(rt *rapid.T) {
	what := rapid.SampledFrom([]ledger.Act{ledger.ActPaid, ledger.ActBack}).Draw(rt, "order")
	ends := map[ledger.Act]ledger.WithdrawalState{
		ledger.ActPaid: ledger.WithdrawalPaid, ledger.ActBack: ledger.WithdrawalReturned,
	}[what]
	confirms, order := false, ""
	id, by, acted := o.act(rt, func(ctx context.Context, id string, by ledger.Person) error {
		if order != "" {
			_, _, err := o.orders.Confirm(ctx, order, by)
			return err
		}
		out, err := o.orders.Do(ctx, orderOf(what, id), by)
		if err == nil {
			order = out.Pending.ID
		}
		return err
	}, func(w ledger.Withdrawal, by string) (ledger.WithdrawalState, error) {
		a, waits := o.waiting(orderOf(what, w.ID))
		if waits {
			order = a.order
		}
		switch {
		case !w.Dead && (w.State != ledger.WithdrawalHeld || what == ledger.ActPaid):
			return "", ledger.ErrNotWaiting
		case !waits:
			return w.State, nil
		case a.by == by:
			return "", ledger.ErrSamePerson
		}
		confirms = true
		return ends, nil
	})
	switch {
	case acted && confirms:
		o.done[id] = what
	case acted:
		o.asked[orderOf(what, id)] = askedFor{order, by.Name, o.b.Clock.Load(), o.lines(id)}
	}
}

// confirmOld confirms an expired order, or one from before another event of its withdrawal.
func (o *office) confirmOld(rt *rapid.T) {
	var old []ledger.Deed
	for d := range o.asked {
		if _, waits := o.waiting(d); !waits {
			old = append(old, d)
		}
	}
	if len(old) == 0 {
		rt.Skip("no order is void")
	}
	slices.SortFunc(old, func(x, y ledger.Deed) int {
		return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Act, y.Act))
	})
	d := rapid.SampledFrom(old).Draw(rt, "void order")
	was := o.read(d.Target)
	_, _, err := o.orders.Confirm(rt.Context(), o.asked[d].order, ledger.Person{Name: "cyd"})
	if !errors.Is(err, ledger.ErrChangedMeanwhile) && !errors.Is(err, ledger.ErrApprovalOver) ||
		o.read(d.Target) != was {
		rt.Fatalf("a void order has made %+v of %+v: %v", o.read(d.Target), was, err)
	}
}

func orderOf(what ledger.Act, id string) ledger.Deed {
	return ledger.Deed{Act: what, Target: id, Reference: "theirs"}
}

// waiting returns the order that a second person can confirm: it is not old, and its withdrawal has no newer event.
func (o *office) waiting(d ledger.Deed) (askedFor, bool) {
	a, is := o.asked[d]
	return a, is && a.lines == o.lines(d.Target) && o.b.Clock.Load()-a.at < orderStands.Milliseconds()
}

func (o *office) lines(id string) int {
	history, err := o.b.WithdrawalHistory(o.t.Context(), id)
	o.must(err)
	return len(history)
}

// check checks that operations by two people are final, and that only they made them.
func (o *office) check(w ledger.Withdrawal) {
	switch what := o.done[w.ID]; {
	case what == ledger.ActPaid && w.State != ledger.WithdrawalPaid,
		what == ledger.ActBack && w.State != ledger.WithdrawalReturned,
		what != ledger.ActBack && w.State == ledger.WithdrawalReturned:
		o.rt.Fatalf("two people have ordered %q, and it is %+v", what, w)
	}
}

// releaseAll releases all held withdrawals.
func (o *office) releaseAll() {
	o.looks = 0
	for _, id := range o.made {
		if o.read(id).State == ledger.WithdrawalHeld {
			o.must(o.desk.Release(o.t.Context(), id, ledger.Person{Name: "ann", Reason: "all is well"}))
		}
	}
}
