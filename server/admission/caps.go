package admission

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/presence"
)

// ErrAddressFull is an address whose guests have all the seats that they may have.
var ErrAddressFull = errors.New("the guests of this address have all the seats that one address may have")

const (
	// leastWins is what an address may win of every campaign, however few packets it has.
	leastWins = 16
	// sweepEvery is how often a node writes which guests are here and what they have won. It is far less than
	// store.AddressSeatFor.
	sweepEvery = 10 * time.Second
	// retry and retryMost are the pauses after Redis could not be asked for wins.
	retry, retryMost = 100 * time.Millisecond, time.Second
	// within limits a round.
	within = 5 * time.Second
	// atOnce is how many addresses one call writes: Redis answers no other client meanwhile.
	atOnce = 200
)

// AddressStore is what all nodes know of the addresses. [store.Addresses] is that.
type AddressStore interface {
	Allot(ctx context.Context, campaign, node string, most int, all []store.Allotment) error
	Sit(ctx context.Context, campaign, address, user string, seats int) (ok bool, err error)
	Stay(ctx context.Context, campaign, address string, users []string) error
	Rise(ctx context.Context, campaign string, gone map[string][]string) error
}

// Campaigns are those that this node knows. [cluster.Known] is that.
type Campaigns interface {
	Cached(id string) *rain.Campaign // nil where it does not
}

// CapsOptions are those of Caps. All are needed but those that say so.
type CapsOptions struct {
	Redis      AddressStore
	Known      Campaigns
	Node       string          // of this process alone
	Wins       float64         // the part of a campaign's packets that an address's guests may win; 0: no limit
	Seats      int             // that they may have in a campaign's room; 0: no limit
	Exempt     []netip.Prefix  // networks that are not bounded; see ParseExempt
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Caps bound addresses. Their Run must be started.
type Caps struct {
	o       CapsOptions
	metrics *capsMetrics
	hungry  loop.Wake                         // an account asks for more
	guests  *presence.Tracker[capKey, string] // of this node, by campaign and address

	mu       sync.Mutex
	accounts map[capKey]*account
}

type capKey struct{ campaign, address string }

// NewCaps makes Caps.
func NewCaps(o CapsOptions) *Caps {
	c := &Caps{o: o, metrics: newCapsMetrics(o.Registerer), hungry: loop.NewWake(), accounts: map[capKey]*account{}}
	c.guests = presence.NewTracker(presence.Options[capKey, string]{
		Part: capsPart, Work: "keeping the seats of guests; they play on", Flush: c.writeSeats, Every: sweepEvery,
		LeavesLate: true,
		Recoverer:  o.Recoverer, Log: o.Log,
	})
	return c
}

// Exempt tells whether an address is in one of the networks that are not bounded.
func (c *Caps) Exempt(address string) bool { return exempt(c.o.Exempt, address) }

// bounds tells whether a player who calls from an address is bounded.
func (c *Caps) bounds(address, user string) bool { return rain.IsGuest(user) && !c.Exempt(address) }

// most is how much of a campaign an address may win: a part of what its guests can win at all.
func (c *Caps) most(of *rain.Campaign) int {
	_, packets := of.Layout().Part(rain.LaneGuests)
	return max(leastWins, int(c.o.Wins*float64(packets.Count())))
}

// Enter seats a player, and returns what they may win together with the others of their address; nil for all that the
// campaign allows. The error is ErrAddressFull, or one of Redis. Leave must be called after it, unless it fails.
func (c *Caps) Enter(ctx context.Context, of *rain.Campaign, address, user string) (grab.Quota, error) {
	if !c.bounds(address, user) || c.o.Wins == 0 && c.o.Seats == 0 {
		return nil, nil //nolint:nilnil // no bound
	}
	a, first, newcomer := c.come(of, capKey{of.ID, address}, user)
	if first {
		a.err = c.begin(ctx, a)
		close(a.ready)
	}
	err := c.enter(ctx, a, user, newcomer)
	if err != nil {
		c.undo(a, user)
		return nil, err
	}
	if c.o.Wins == 0 {
		return nil, nil //nolint:nilnil // no bound
	}
	return a, nil
}

// begin gets the first wins of an address.
func (c *Caps) begin(ctx context.Context, a *account) error {
	if c.o.Wins == 0 {
		return nil
	}
	want := []store.Allotment{a.wanted()}
	err := c.o.Redis.Allot(ctx, a.key.campaign, c.o.Node, a.most, want)
	a.got(want[0], err)
	return err
}

func (c *Caps) enter(ctx context.Context, a *account, user string, newcomer bool) error {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.err != nil {
		return a.err
	}
	if c.o.Seats == 0 || !newcomer {
		return nil
	}
	ok, err := c.o.Redis.Sit(ctx, a.key.campaign, a.key.address, user, c.o.Seats)
	if err == nil && !ok {
		c.metrics.seats.Inc()
		err = ErrAddressFull
	}
	return err
}

// come counts a connection. first says that nobody has asked Redis for the account, newcomer that it is the player's
// first one.
func (c *Caps) come(of *rain.Campaign, k capKey, user string) (a *account, first, newcomer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a = c.accounts[k]
	if a == nil {
		first = true
		a = &account{caps: c, key: k, most: c.most(of), ready: make(chan struct{})}
		c.accounts[k] = a
	}
	return a, first, c.guests.Add(k, user)
}

// Leave ends a connection that Enter has let in. It has no effect on one that Enter did not bound.
func (c *Caps) Leave(campaign, address, user string) {
	c.guests.Leave(capKey{campaign, address}, user, presence.Left)
}

// undo takes back a connection that was not let in.
func (c *Caps) undo(a *account, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guests.Remove(a.key, user)
	if c.guests.Count(a.key) == 0 && a.failed() {
		delete(c.accounts, a.key) // the next one asks Redis anew
	}
}

// failed tells whether Redis could not be asked for the account.
func (a *account) failed() bool {
	select {
	case <-a.ready:
		return a.err != nil
	default:
		return false
	}
}

// all returns the accounts for which keep is true, by campaign.
func (c *Caps) all(keep func(*account) bool) map[string][]*account {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := map[string][]*account{}
	for k, a := range c.accounts {
		if keep(a) {
			by[k.campaign] = append(by[k.campaign], a)
		}
	}
	return by
}
