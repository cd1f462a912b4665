package withdraw

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/internal/testenv/property"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWhateverReceiversDo: receivers change, die, answer twice, late or never, require the player, answer 429, and
// nodes stop in the middle, in any order. Each withdrawal is sent to one receiver, is paid once, is reported as paid
// only if it is, and ends after all recover.
func TestWhateverReceiversDo(t *testing.T) {
	onEach(t, 1000, (*world).live)
}

// onEach checks a property of worlds on each database, with at most so many of them.
func onEach(t *testing.T, most int, live func(m *world)) {
	t.Helper()
	t.Parallel()
	for name, c := range map[string]struct {
		open func(testing.TB) *paytest.Books
		most int // runs; a statement of a real server takes longer
	}{"sqlite": {paytest.OnSQLite, most}, "mysql": {paytest.OnMySQL, min(15, most)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, run := c.open(t), 0
			property.Check(t, 5, func(rt *rapid.T) {
				if run++; run > c.most {
					return
				}
				live(newWorld(t, rt, b, fmt.Sprintf("u%d", run)))
			})
			b.CheckBooks(t)
		})
	}
}

// purse is a player's initial balance.
const purse = 1000

// held is a result that a node has not recorded yet.
type held struct {
	node *Payer
	w    ledger.Withdrawal
	said outcome
}

// world is one run: receivers, nodes and a player.
type world struct {
	rt   *rapid.T
	t    *testing.T
	b    *paytest.Books
	user string

	receivers []*modelReceiver
	providers []Provider // of the receivers, and the wallet
	nodes     []*Payer
	made      []string // withdrawals
	late      []held
	office    *office
	attempts  int // of a node, until a withdrawal is a dead letter
}

func newWorld(t *testing.T, rt *rapid.T, b *paytest.Books, user string) *world {
	t.Helper()
	m := &world{rt: rt, t: t, b: b, user: user, attempts: 3}
	m.office = newOffice(m)
	// An earlier failed run may have left open withdrawals.
	m.b.Statement(m.t, "UPDATE withdrawal SET dead = 1 WHERE state IN ('requested', 'sent', 'action_required')")
	m.b.Rich(m.t, m.user, purse)
	a, r := newModelReceiver("a"), newModelReceiver("b")
	m.receivers = []*modelReceiver{a, r}
	m.providers = []Provider{askable{a}, r, Wallet{}}
	return m
}

// start starts two nodes with the first receiver.
func (m *world) start() {
	for range 2 {
		m.nodes = append(m.nodes, m.node(m.receivers[0]))
	}
}

func (m *world) live() {
	m.start()
	m.rt.Repeat(map[string]func(*rapid.T){
		"withdraw":  m.withdraw,
		"pay":       m.pay,
		"die":       m.stop,
		"late":      m.remember,
		"change":    m.change,
		"confirm":   m.confirm,
		"wait":      m.wait,
		"strays":    m.strays,
		"redrive":   m.redrive,
		"":          m.check,
		"pay again": m.pay, // more often, for longer histories
	})
	m.heal()
}

func (m *world) node(p Provider) *Payer {
	return NewPayer(m.b.Withdrawals, p, PayerOptions{Attempts: m.attempts, Clock: m.b.Clock.Now, Log: paytest.Quiet})
}

func (m *world) anyNode(rt *rapid.T) int { return rapid.IntRange(0, len(m.nodes)-1).Draw(rt, "node") }

func (m *world) must(err error) {
	testenv.Must(m.rt, err)
}

func (m *world) withdraw(rt *rapid.T) {
	id := fmt.Sprintf("%s-%d", m.user, len(m.made))
	_, _, err := m.b.Withdraw(rt.Context(), id, m.user, rain.Money(rapid.IntRange(1, 9).Draw(rt, "amount")))
	m.must(err)
	m.made = append(m.made, id)
}

// lease makes a node lease one withdrawal, if any is due for it.
func (m *world) lease(rt *rapid.T, p *Payer) []ledger.Withdrawal {
	for _, r := range m.receivers {
		r.do = drawBehaviour(rt)
		r.deaf = rapid.IntRange(0, 3).Draw(rt, "deaf") == 0
	}
	taken, err := m.b.LeaseDue(rt.Context(), p.receiver, 1, p.o.Timeout+payMargin)
	m.must(err)
	return taken
}

func (m *world) pay(rt *rapid.T) {
	p := m.nodes[m.anyNode(rt)]
	for _, w := range m.lease(rt, p) {
		p.try(rt.Context(), w, time.Now().Add(time.Minute))
	}
}

// stop stops a node between the receiver's answer and the ledger. It may record the result late.
func (m *world) stop(rt *rapid.T) {
	p := m.nodes[m.anyNode(rt)]
	for _, w := range m.lease(rt, p) {
		answer, err := p.pay(rt.Context(), w)
		m.late = append(m.late, held{p, w, p.classify(rt.Context(), w, answer, err)})
	}
}

// remember records a late result, or a known one again.
func (m *world) remember(rt *rapid.T) {
	if len(m.late) == 0 {
		rt.Skip("nothing is late")
	}
	h := m.late[rapid.IntRange(0, len(m.late)-1).Draw(rt, "late")]
	h.node.record(rt.Context(), h.w, h.said)
}

func (m *world) change(rt *rapid.T) {
	i := m.anyNode(rt)
	m.nodes[i] = m.node(rapid.SampledFrom(m.providers).Draw(rt, "provider"))
}

func (m *world) confirm(rt *rapid.T) {
	if len(m.made) == 0 {
		rt.Skip("nothing to confirm")
	}
	key := rapid.SampledFrom(m.made).Draw(rt, "payment")
	for _, r := range m.receivers {
		r.confirm(key)
	}
}

func (m *world) wait(rt *rapid.T) {
	m.b.Clock.Add(rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 10 * time.Minute, time.Hour,
		8 * 24 * time.Hour}).Draw(rt, "passes").Milliseconds())
}

func (m *world) strays(rt *rapid.T) { m.must(m.nodes[m.anyNode(rt)].endOrphans(rt.Context())) }

func (m *world) redrive(rt *rapid.T) {
	for _, id := range m.made {
		if w := m.read(id); w.Dead {
			_, err := m.b.Retry(rt.Context(), id)
			m.must(err)
		}
	}
}

func (m *world) read(id string) ledger.Withdrawal {
	w, err := m.b.Withdrawal(m.t.Context(), id)
	m.must(err)
	return w
}

// check compares the ledger with the receivers' books.
func (m *world) check(rt *rapid.T) {
	left := rain.Money(purse)
	for _, id := range m.made {
		w := m.read(id)
		if w.State.Brief() != ledger.WithdrawalFailed {
			left -= w.Amount
		}
		m.hold(w)
	}
	got, err := m.b.UserBalance(rt.Context(), m.user)
	m.must(err)
	if got != left {
		rt.Fatalf("the player has %d, want %d", got, left)
	}
}

// hold checks one withdrawal.
func (m *world) hold(w ledger.Withdrawal) {
	var by *modelPayment
	for _, r := range m.receivers {
		p := r.payments[w.ID]
		switch {
		case r.fault != "":
			m.rt.Fatal(r.fault)
		case r.asked[w.ID] > 0 && w.Receiver != r.name:
			m.rt.Fatalf("%s was asked for %+v", r.name, w)
		case p != nil && p.made > 1:
			m.rt.Fatalf("%s has paid %d times for %+v", r.name, p.made, w)
		case p != nil:
			by = p
		}
	}
	m.office.check(w)
	switch {
	case m.office.done[w.ID] != "":
	case w.State == ledger.WithdrawalPaid && w.Receiver != "wallet" && (by == nil || by.status != Paid):
		m.rt.Fatalf("said to be paid, and the receiver knows %+v: %+v", by, w)
	case w.State == ledger.WithdrawalRefused && (by == nil || by.status != Refused):
		m.rt.Fatalf("said to be refused, and the receiver knows %+v: %+v", by, w)
	}
}

// heal repairs everything: each receiver has a node, answers, and decides; dead letters are retried.
func (m *world) heal() {
	m.nodes = m.nodes[:0]
	for _, p := range m.providers {
		m.nodes = append(m.nodes, m.node(p))
	}
	for _, r := range m.receivers {
		r.do, r.deaf = doesDecide, false
	}
	m.office.releaseAll()
	for range 20 {
		if m.ended() {
			break
		}
		m.redrive(m.rt)
		m.b.Clock.Add(payPatience.Milliseconds())
		for _, id := range m.made {
			for _, r := range m.receivers {
				r.confirm(id)
			}
		}
		for _, p := range m.nodes {
			due, err := m.b.LeaseDue(m.t.Context(), p.receiver, 1000, p.o.Timeout+payMargin)
			m.must(err)
			for _, w := range due {
				p.try(m.t.Context(), w, time.Now().Add(time.Minute))
			}
		}
	}
	m.check(m.rt)
	if !m.ended() {
		m.rt.Fatal("all is well, and a withdrawal has not ended")
	}
	m.emptyClearing()
}

func (m *world) ended() bool {
	for _, id := range m.made {
		if m.read(id).State.Open() {
			return false
		}
	}
	return true
}

func (m *world) emptyClearing() {
	clearing, _, err := booking.BalanceOf(m.t.Context(), m.b.DB, booking.ClearingAccount(m.user))
	m.must(err)
	if clearing != 0 {
		m.rt.Fatalf("%d are on their way", clearing)
	}
}
