package paytest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Logbook keeps the log, and counts the retried transactions.
type Logbook struct {
	mu        sync.Mutex
	loud      []string // info and above
	deadlocks int
	retries   int // for other reasons: another transaction was faster
}

// Enabled implements slog.Handler; every level is kept.
func (*Logbook) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler; the attributes are dropped.
func (k *Logbook) WithAttrs([]slog.Attr) slog.Handler { return k }

// WithGroup implements slog.Handler; the group is dropped.
func (k *Logbook) WithGroup(string) slog.Handler { return k }

// Handle implements slog.Handler.
func (k *Logbook) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case r.Level >= slog.LevelInfo:
		k.loud = append(k.loud, text)
	case !strings.HasPrefix(r.Message, "transaction is tried again"):
	case strings.Contains(text, "Deadlock") || strings.Contains(text, "Lock wait"):
		k.deadlocks++
	default:
		k.retries++
	}
	return nil
}

// CheckQuiet fails the test if there is a record above debug.
func (k *Logbook) CheckQuiet(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	t.Logf("%d deadlocks, %d other retries", k.deadlocks, k.retries)
	if len(k.loud) > 0 {
		t.Errorf("%d records above debug: %s", len(k.loud), strings.Join(k.loud, "\n"))
	}
}

// CheckOrder fails the test if there were deadlocks.
func (k *Logbook) CheckOrder(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deadlocks > 0 {
		t.Errorf("%d deadlocks: some lock is not taken in the order that booking.Book says", k.deadlocks)
	}
}

// CrowdAmount is the amount of each packet of a Crowd's campaign.
const CrowdAmount = 11

// Crowd is the outboxes' content after a rain: some players win again and again, and others for the first time. Its
// campaign is split evenly into packets of CrowdAmount.
func Crowd(campaign string, entries, wins int) (all []rain.Entry, paid map[string]rain.Money) {
	r := rand.New(rand.NewPCG(7, 7))
	paid = map[string]rain.Money{}
	for e := range entries {
		var list []rain.Win
		for w := range wins {
			user := fmt.Sprintf("regular-%d", r.IntN(60))
			if r.IntN(3) == 0 {
				user = fmt.Sprintf("new-%d", r.IntN(entries*wins))
			}
			w := Win(user, e*wins+w, CrowdAmount)
			paid[user] += w.Amount
			list = append(list, w)
		}
		all = append(all, Entry(campaign, e+1, list...))
	}
	return all, paid
}

// Paid counts and sums a campaign's paid packets.
func (b *Books) Paid(ctx context.Context, campaign string) (packets int64, amount rain.Money, err error) {
	t, err := b.Totals(ctx, campaign)
	return t.Paid, t.AmountPaid, err
}

// WantPaid fails the test unless the books have paid exactly these amounts: each player, the packets, and the rest in
// the escrow.
func (b *Books) WantPaid(t *testing.T, campaign string, budget rain.Money, packets int64, paid map[string]rain.Money) {
	t.Helper()
	var sum rain.Money
	for user, want := range paid {
		b.WantBalance(t, booking.UserAccount(user), want)
		sum += want
	}
	b.WantBalance(t, booking.EscrowAccount(campaign), budget-sum)
	if n, amount, err := b.Paid(t.Context(), campaign); n != packets || amount != sum || err != nil {
		t.Errorf("%d packets and %d are paid, want %d and %d (%v)", n, amount, packets, sum, err)
	}
	b.CheckBooks(t)
}

// Told is a Notifier that counts how often each claim was settled.
type Told struct {
	mu     sync.Mutex
	claims map[string]int
}

// Settled implements Notifier.
func (n *Told) Settled(_ context.Context, settled []posting.Settlement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.claims == nil {
		n.claims = map[string]int{}
	}
	for _, s := range settled {
		n.claims[s.Claim]++
	}
}

// Distinct counts the settled claims.
func (n *Told) Distinct() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.claims)
}
