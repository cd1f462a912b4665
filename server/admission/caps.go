package admission

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab"
	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/rain"
	"redrain/server/clientip"
	"redrain/server/presence"
)

// ErrAddressFull means that the guests of an address have all their slots.
var ErrAddressFull = errors.New("the guests of this address have all the seats that one address may have")

const (
	// leastWins is the number of wins that an address may have in any campaign, even a small one.
	leastWins = 16
	// sweepEvery is the interval at which a node writes its guests and their wins. It is far less than
	// store.AddressSeatFor.
	sweepEvery = 10 * time.Second
	// retry and retryMost are the pauses after a failed request to Redis.
	retry, retryMost = 100 * time.Millisecond, time.Second
	// within limits a round.
	within = 5 * time.Second
	// atOnce is the number of addresses that one call writes: Redis answers no other client meanwhile.
	atOnce = 200
)

// AddressStore holds the state of addresses over all nodes. [store.Addresses] implements it.
type AddressStore interface {
	Allot(ctx context.Context, campaign, node string, most int, all []store.Allotment) error
	Sit(ctx context.Context, campaign, address, user string, seats int) (ok bool, err error)
	Stay(ctx context.Context, campaign, address string, users []string) error
	Rise(ctx context.Context, campaign string, gone map[string][]string) error
}

// Campaigns are the campaigns that this node has. cluster.Known implements it.
type Campaigns interface {
	Cached(id string) *rain.Campaign // nil if it does not have it
}

// CapsOptions are the options of Caps. All are required unless stated otherwise.
type CapsOptions struct {
	Redis      AddressStore
	Known      Campaigns
	Node       string          // unique to this process
	Wins       float64         // the share of a campaign's packets that an address's guests may win; 0: no limit
	Seats      int             // slots that they may have in a campaign's room; 0: no limit
	Exempt     []netip.Prefix  // networks without limits; see ParseExempt
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Caps limit addresses. Their Run must be started.
type Caps struct {
	o       CapsOptions
	metrics *capsMetrics
	hungry  loop.Wake                         // an account needs more
	guests  *presence.Tracker[capKey, string] // of this node, by campaign and address

	mu       sync.Mutex
	accounts map[capKey]*account
}

type capKey struct{ campaign, address string }

// NewCaps returns Caps without guests.
func NewCaps(o CapsOptions) *Caps {
	c := &Caps{o: o, metrics: newCapsMetrics(o.Registerer), hungry: loop.NewWake(), accounts: map[capKey]*account{}}
	c.guests = presence.NewTracker(presence.Options[capKey, string]{
		Part: capsPart, Work: "keep the seats of guests; they play on", Flush: c.writeSeats, Every: sweepEvery,
		LeavesLate: true,
		Recoverer:  o.Recoverer, Log: o.Log,
	})
	return c
}

// Exempt reports whether an address, as package clientip names it, is in one of the networks without limits.
func (c *Caps) Exempt(address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && clientip.Proxies(c.o.Exempt).Trust(addr)
}

// most returns the wins that an address may have in a campaign: a share of the packets for guests.
func (c *Caps) most(of *rain.Campaign) int {
	_, packets := of.Layout().Part(rain.LaneGuests)
	return max(leastWins, int(c.o.Wins*float64(packets.Count())))
}

// Enter gives a player a slot, and returns the quota shared with the other guests of the address; nil: only the
// campaign limits the player. The error is ErrAddressFull, or one of Redis. Leave must be called after it, unless it
// fails.
func (c *Caps) Enter(ctx context.Context, of *rain.Campaign, address, user string) (grab.Quota, error) {
	if !rain.IsGuest(user) || c.Exempt(address) || c.o.Wins == 0 && c.o.Seats == 0 {
		return nil, nil //nolint:nilnil // no bound
	}
	a, isNew := c.come(of, capKey{of.ID, address}, user)
	if err := c.enter(ctx, a, user, isNew); err != nil {
		c.undo(a, user)
		return nil, err
	}
	if c.o.Wins == 0 {
		return nil, nil //nolint:nilnil // no bound
	}
	return a, nil
}

// enter requests the first wins of an address, once, and a slot for a newcomer.
func (c *Caps) enter(ctx context.Context, a *account, user string, isNew bool) error {
	if err := c.open(ctx, a); err != nil {
		return err
	}
	if c.o.Seats == 0 || !isNew {
		return nil
	}
	ok, err := c.o.Redis.Sit(ctx, a.key.campaign, a.key.address, user, c.o.Seats)
	if err == nil && !ok {
		c.metrics.seats.Inc()
		err = ErrAddressFull
	}
	return err
}

func (c *Caps) open(ctx context.Context, a *account) error {
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.isOpen.Load() || c.o.Wins == 0 {
		return nil
	}
	want := []store.Allotment{a.wanted()}
	err := c.o.Redis.Allot(ctx, a.key.campaign, c.o.Node, a.most, want)
	a.got(want[0], err)
	a.isOpen.Store(err == nil)
	return err
}

// come counts a connection. It reports whether it is the player's first one.
func (c *Caps) come(of *rain.Campaign, k capKey, user string) (a *account, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a = c.accounts[k]
	if a == nil {
		a = &account{caps: c, key: k, most: c.most(of)}
		c.accounts[k] = a
	}
	return a, c.guests.Add(k, user)
}

// Leave ends a connection that Enter has admitted, with or without a quota. The player's last one frees the slot.
func (c *Caps) Leave(campaign, address, user string) {
	c.guests.Leave(capKey{campaign, address}, user, presence.Left)
}

// undo removes a connection that was not admitted.
func (c *Caps) undo(a *account, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guests.Remove(a.key, user)
	if c.guests.Count(a.key) == 0 && !a.isOpen.Load() {
		delete(c.accounts, a.key) // the next one requests it again
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

// capsPart names the loops in metrics, alarms and the log.
const capsPart = "addresses"

// Run requests wins for the addresses that need them, and writes the guests of this node, until ctx ends.
func (c *Caps) Run(ctx context.Context) error {
	return c.guests.Run(ctx, loop.Spec{Part: capsPart, Work: "request wins of addresses", Every: sweepEvery,
		Wake: c.hungry, Retry: retry, RetryMost: retryMost, Do: c.sweep, Woken: c.feed,
		Recoverer: c.o.Recoverer, Log: c.o.Log})
}

// feed requests the wins that accounts need. After an error they are requested again.
func (c *Caps) feed(ctx context.Context) (failed error) {
	for campaign, accounts := range c.all((*account).isAsking) {
		failed = errors.Join(failed, c.exchange(ctx, campaign, accounts, (*account).wanted))
	}
	return failed
}

// sweep reports wins, returns unused ones, feeds accounts, and drops those that are done.
func (c *Caps) sweep(ctx context.Context) (failed error) {
	if c.o.Wins > 0 {
		word := func(a *account) store.Allotment { return a.word(c.guests.Count(a.key) == 0) }
		for campaign, accounts := range c.all(func(a *account) bool { return a.isOpen.Load() }) {
			failed = errors.Join(failed, c.exchange(ctx, campaign, accounts, word))
		}
	}
	failed = errors.Join(failed, c.feed(ctx))
	c.forget()
	return failed
}

// exchange sends each account's report to Redis, and applies the answers.
func (c *Caps) exchange(ctx context.Context, campaign string, all []*account,
	word func(*account) store.Allotment) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var failed error
	for accounts := range slices.Chunk(all, atOnce) {
		words := make([]store.Allotment, len(accounts))
		for i, a := range accounts {
			words[i] = word(a)
		}
		err := c.o.Redis.Allot(ctx, campaign, c.o.Node, accounts[0].most, words)
		for i, a := range accounts {
			a.got(words[i], err)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// writeSeats renews and frees guests' slots.
func (c *Caps) writeSeats(ctx context.Context, changes []presence.Change[capKey, string]) (failed error) {
	if c.o.Seats == 0 {
		return nil
	}
	here, gone := map[capKey][]string{}, map[string]map[string][]string{}
	for _, change := range changes {
		k := change.Group
		if change.State == presence.Here {
			here[k] = append(here[k], change.Member)
			continue
		}
		if gone[k.campaign] == nil {
			gone[k.campaign] = map[string][]string{}
		}
		gone[k.campaign][k.address] = append(gone[k.campaign][k.address], change.Member)
	}
	for campaign, by := range gone {
		failed = errors.Join(failed, c.o.Redis.Rise(ctx, campaign, by))
	}
	isAway := map[string]bool{} // campaigns whose Redis does not answer: that of others may
	for k, users := range here {
		if isAway[k.campaign] {
			continue
		}
		err := c.o.Redis.Stay(ctx, k.campaign, k.address, users)
		isAway[k.campaign] = err != nil
		failed = errors.Join(failed, err)
	}
	return failed
}

// forget drops the accounts without guests here whose campaign is over, or that hold no wins.
func (c *Caps) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, a := range c.accounts {
		of := c.o.Known.Cached(k.campaign)
		if over := of == nil || of.Drained; c.guests.Count(k) == 0 && (over || a.done()) {
			delete(c.accounts, k)
		}
	}
	c.metrics.known.Set(float64(len(c.accounts)))
}

// ParseExempt parses networks and addresses without limits. One within an IPv6 /64 stands for all of it, because one
// client usually has all of it.
func ParseExempt(list []string) ([]netip.Prefix, error) {
	networks, err := clientip.ParseProxies(list)
	if err != nil {
		return nil, err
	}
	all := make([]netip.Prefix, 0, len(networks))
	for _, n := range networks {
		if n.Addr().Is6() && n.Bits() > 64 {
			n = netip.PrefixFrom(n.Addr(), 64).Masked()
		}
		all = append(all, n)
	}
	return all, nil
}
