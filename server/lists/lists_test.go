package lists

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/playerlist"
	"redrain/rain"
	"redrain/server/cluster"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// book keeps lists in memory.
type book struct {
	mu      sync.Mutex
	heads   map[string]playerlist.List
	members map[string][]string
	fails   bool
	asked   int
}

var errDown = errors.New("the database is down")

func (b *book) Heads(context.Context) (all []playerlist.List, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.heads {
		all = append(all, h)
	}
	if b.fails {
		err = errDown
	}
	return all, err
}

func (b *book) Members(_ context.Context, name, after string, _ int) (list []ledger.ListMember, next string,
	err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, who := range b.members[name] { // a member a page
		if who > after {
			return []ledger.ListMember{{Who: who}}, who, nil
		}
	}
	return nil, "", nil
}

func (b *book) Among(_ context.Context, name string, who []string) (map[string]int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	on := map[string]int64{}
	for _, one := range who {
		if slices.Contains(b.members[name], one) {
			on[one] = 1
		}
	}
	if b.fails {
		return nil, errDown
	}
	return on, nil
}

// put makes a list, or changes it.
func (b *book) put(name string, kind playerlist.Kind, purpose playerlist.Purpose, who ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(who)
	h := b.heads[name]
	b.heads[name] = playerlist.List{Name: name, Kind: kind, Purpose: purpose, Revision: h.Revision + 1}
	b.members[name] = who
}

func (b *book) fail(fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = fails
}

func open(t *testing.T, changed func(context.Context) error) (*Lists, *book) {
	t.Helper()
	b := &book{heads: map[string]playerlist.List{}, members: map[string][]string{}}
	if changed == nil {
		changed = func(context.Context) error { return nil }
	}
	return New(Options{Source: b, Changed: changed, Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry()}), b
}

func only(list string) *rain.Campaign {
	return &rain.Campaign{Spec: rain.Spec{Players: &rain.Players{List: list}}}
}

func TestWhoMayPlay(t *testing.T) {
	l, b := open(t, nil)
	b.put("vip", playerlist.Players, playerlist.Invite, "in", "barred")
	b.put("barred", playerlist.Players, playerlist.Deny, "barred")
	b.put("nets", playerlist.Addresses, playerlist.Deny, "192.0.2.0/24", "2001:db8:1:2::/64", "10.0.0.9/32")
	testenv.Must(t, l.Load(t.Context()))
	for range 2 { // the second time from memory
		for _, c := range []struct {
			c             *rain.Campaign
			user, address string
			want          error
		}{
			{only("vip"), "in", "198.51.100.1", nil},
			{only("vip"), "out", "198.51.100.1", playerlist.ErrNotInvited},
			{only("vip"), "barred", "198.51.100.1", playerlist.ErrDenied},
			{only("gone"), "in", "198.51.100.1", playerlist.ErrNotInvited},
			{&rain.Campaign{}, "out", "198.51.100.1", nil},
			{nil, "barred", "198.51.100.1", playerlist.ErrDenied},
			{nil, "out", "192.0.2.200", playerlist.ErrDenied},
			{nil, "", "192.0.2.200", playerlist.ErrDenied},
			{nil, "", "2001:db8:1:2::", playerlist.ErrDenied},
			{nil, "", "2001:db8:1:3::", nil},
			{nil, "", "10.0.0.9", playerlist.ErrDenied},
			{nil, "", "10.0.0.8", nil},
			{nil, "", "odd", nil},
		} {
			if err := l.MayPlay(t.Context(), c.c, c.user, c.address); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	// in, out and barred on barred; in and out on vip; in on gone, twice: such a list is not remembered
	if b.asked != 7 {
		t.Errorf("the database was asked %d times", b.asked)
	}
}

// An answer is remembered until the list has changed. Where the database is away who is invited is not known, so nobody
// new comes in where that counts, and who may be denied plays on: they are not paid.
func TestWhatIsRemembered(t *testing.T) {
	l, b := open(t, nil)
	b.put("vip", playerlist.Players, playerlist.Invite, "in")
	b.put("barred", playerlist.Players, playerlist.Deny)
	testenv.Must(t, l.Load(t.Context()))
	may := func(user string) error { return l.MayPlay(t.Context(), only("vip"), user, "") }
	if err := may("in"); err != nil {
		t.Error(err)
	}
	b.fail(true)
	if err := may("in"); err != nil {
		t.Errorf("who is known: %v", err)
	}
	testenv.WantErr(t, may("new"), errDown, "who is not known")
	if err := l.MayPlay(t.Context(), nil, "new", ""); err != nil {
		t.Errorf("a campaign for everybody: %v", err)
	}
	b.fail(false)
	b.put("vip", playerlist.Players, playerlist.Invite)
	testenv.Must(t, l.Refresh(t.Context()))
	testenv.WantErr(t, may("in"), playerlist.ErrNotInvited, "taken off")
}

func TestScreen(t *testing.T) {
	l, b := open(t, nil)
	b.put("vip", playerlist.Players, playerlist.Invite, "in")
	b.put("barred", playerlist.Players, playerlist.Deny, "barred")
	b.put("nets", playerlist.Addresses, playerlist.Deny, "192.0.2.0/24")
	testenv.Must(t, l.Load(t.Context()))
	here := []Guest{{User: "in", Campaign: only("vip")}, {User: "out", Campaign: only("vip")}, {User: "barred"},
		{User: "out"}, {User: "x", Address: "192.0.2.1"}, {User: "barred", Campaign: only("vip")}}
	want := []error{nil, playerlist.ErrNotInvited, playerlist.ErrDenied, nil, playerlist.ErrDenied,
		playerlist.ErrDenied}
	why, err := l.Screen(t.Context(), here)
	if err != nil || !slices.Equal(why, want) {
		t.Errorf("%v, %v", why, err)
	}
	b.fail(true)
	why, err = l.Screen(t.Context(), here)
	if err == nil || why[1] != nil || why[2] != nil || why[4] == nil {
		t.Errorf("with a database that is away: %v, %v", why, err)
	}
}

// A change is heard of at once where a node tells it, and within seconds where nobody does; who is here is looked at
// until that has worked.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		looks, down := 0, true
		l, b := open(t, func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			looks++
			if down {
				return errDown
			}
			return nil
		})
		seen := func(want int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if looks != want {
				t.Errorf("looked %d times, want %d", looks, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Run(ctx) })
		synctest.Wait()
		seen(0)
		b.put("vip", playerlist.Players, playerlist.Invite)
		for told := range 2 { // the second word of it tries again
			l.Announced()
			synctest.Wait()
			seen(1 + told)
		}
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(cluster.RefreshEvery)
		synctest.Wait()
		seen(3)
		time.Sleep(cluster.RefreshEvery)
		synctest.Wait()
		seen(3)
		b.put("vip", playerlist.Players, playerlist.Invite, "in")
		time.Sleep(cluster.RefreshEvery)
		synctest.Wait()
		seen(4)
		cancel()
		wg.Wait()
	})
}

func TestNetworks(t *testing.T) {
	n := networks{}
	for _, p := range []string{"0.0.0.0/0", "2001:db8::/32"} {
		n.add(netip.MustParsePrefix(p))
	}
	for addr, want := range map[string]bool{"203.0.113.9": true, "::ffff:203.0.113.9": true, "2001:db8::1": true,
		"2001:db9::1": false} {
		if got := n.has(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
