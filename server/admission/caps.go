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

// capsPart names the loops in metrics, alarms and the log.
const capsPart = "addresses"

// Run gets more wins for the addresses that need them, and writes who is here, until ctx ends.
func (c *Caps) Run(ctx context.Context) error {
	return c.guests.Run(ctx, loop.Spec{Part: capsPart, Work: "asking what addresses may win", Every: sweepEvery,
		Wake: c.hungry, Retry: retry, RetryMost: retryMost, Do: c.sweep, Woken: c.feed,
		Recoverer: c.o.Recoverer, Log: c.o.Log})
}

// feed asks Redis for what accounts want. After an error they ask again.
func (c *Caps) feed(ctx context.Context) (failed error) {
	for campaign, accounts := range c.all((*account).isAsking) {
		if err := c.tell(ctx, campaign, accounts, (*account).wanted); err != nil {
			failed = errors.Join(failed, err)
			for _, a := range accounts {
				a.keepAsking()
			}
		}
	}
	return failed
}

// sweep writes what was won, gives back what is not used, feeds accounts and forgets those that are over.
func (c *Caps) sweep(ctx context.Context) (failed error) {
	if c.o.Wins > 0 {
		word := func(a *account) store.Allotment { return a.word(c.guests.Count(a.key) == 0) }
		for campaign, accounts := range c.all((*account).ok) {
			failed = errors.Join(failed, c.tell(ctx, campaign, accounts, word))
		}
	}
	failed = errors.Join(failed, c.feed(ctx))
	c.forget()
	return failed
}

// tell tells Redis one word of each account, and the accounts its answers.
func (c *Caps) tell(ctx context.Context, campaign string, all []*account, word func(*account) store.Allotment) error {
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

// writeSeats keeps and gives up guests' seats.
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
	isAway := map[string]bool{} // campaigns whose Redis is away: the others' may answer
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

// forget drops the accounts that are needed no more: nobody is here, and nothing was won of what may still be played.
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

func (a *account) isAsking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asking && a.ok()
}

func (a *account) keepAsking() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = true
}

// ok tells whether Redis was asked for the account.
func (a *account) ok() bool {
	select {
	case <-a.ready:
		return a.err == nil
	default:
		return false
	}
}

// ParseExempt reads networks and addresses that are not bounded. One within an IPv6 /64 stands for all of it, as one
// client usually does.
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

// exempt tells whether an address, as package clientip names it, is in one of the networks.
func exempt(networks []netip.Prefix, address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && clientip.Proxies(networks).Trust(addr)
}
