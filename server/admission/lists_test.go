package admission

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
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/timeout"
)

// listsBook keeps lists in memory.
type listsBook struct {
	mu      sync.Mutex
	heads   map[string]standing.List
	members map[string][]string
	fails   bool
	hangs   bool
	asked   int
}

var errDown = errors.New("the database is down")

func (b *listsBook) Heads(context.Context) (all []standing.List, err error) {
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

func (b *listsBook) Members(_ context.Context, name, after string, _ int) (list []ledger.ListMember, next string,
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

func (b *listsBook) Among(ctx context.Context, name string, who []string) (map[string]int64, error) {
	if b.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
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
func (b *listsBook) put(name string, kind standing.ListKind, purpose standing.ListPurpose, who ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(who)
	h := b.heads[name]
	b.heads[name] = standing.List{Name: name, Kind: kind, Purpose: purpose, Revision: h.Revision + 1}
	b.members[name] = who
}

func (b *listsBook) fail(fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = fails
}

func openLists(t *testing.T, changed func(context.Context) error) (*Lists, *listsBook) {
	t.Helper()
	b := &listsBook{heads: map[string]standing.List{}, members: map[string][]string{}}
	if changed == nil {
		changed = func(context.Context) error { return nil }
	}
	return NewLists(ListsOptions{Source: b, Changed: changed, Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry()}), b
}

func onlyList(list string) *rain.Campaign {
	return &rain.Campaign{Spec: rain.Spec{Players: &rain.Players{List: list}}}
}

func TestWhoMayPlay(t *testing.T) {
	l, b := openLists(t, nil)
	b.put("vip", standing.KindPlayers, standing.PurposeInvite, "in", "barred")
	b.put("barred", standing.KindPlayers, standing.PurposeDeny, "barred")
	b.put("nets", standing.KindAddresses, standing.PurposeDeny, "192.0.2.0/24", "2001:db8:1:2::/64", "10.0.0.9/32")
	testenv.Must(t, l.Load(t.Context()))
	for range 2 { // the second time from memory
		for _, c := range []struct {
			c             *rain.Campaign
			user, address string
			want          error
		}{
			{onlyList("vip"), "in", "198.51.100.1", nil},
			{onlyList("vip"), "out", "198.51.100.1", standing.ErrNotInvited},
			{onlyList("vip"), "barred", "198.51.100.1", standing.ErrDenied},
			{onlyList("gone"), "in", "198.51.100.1", standing.ErrNotInvited},
			{&rain.Campaign{}, "out", "198.51.100.1", nil},
			{nil, "barred", "198.51.100.1", standing.ErrDenied},
			{nil, "out", "192.0.2.200", standing.ErrDenied},
			{nil, "", "192.0.2.200", standing.ErrDenied},
			{nil, "", "2001:db8:1:2::", standing.ErrDenied},
			{nil, "", "2001:db8:1:3::", nil},
			{nil, "", "10.0.0.9", standing.ErrDenied},
			{nil, "", "10.0.0.8", nil},
			{nil, "", "odd", nil},
		} {
			if err := l.MayPlay(t.Context(), c.c, c.user, c.address); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
	// in, out and barred on barred; in and out on vip; in on gone, twice: such a list is not remembered
	testenv.Equal(t, b.asked, 7, "questions to the database")
}

// A database that hangs costs a newcomer one second, however many lists there are: the hello has time for the rest.
func TestAHangingDatabaseKeepsNoNewcomerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := openLists(t, nil)
		for _, name := range []string{"bots", "farms", "staff"} {
			b.put(name, standing.KindPlayers, standing.PurposeDeny, "barred")
		}
		testenv.Must(t, l.Load(t.Context()))
		b.hangs = true
		began := time.Now()
		testenv.Must(t, l.MayPlay(t.Context(), &rain.Campaign{}, "u", "198.51.100.1"))
		testenv.Equal(t, time.Since(began), timeout.Glance, "it took")
	})
}

// An answer is cached until the list changes. If the database is away, a list of invitations admits no unknown player.
// A list that denies does not stop players: their wins are not paid.
func TestWhatIsRemembered(t *testing.T) {
	l, b := openLists(t, nil)
	b.put("vip", standing.KindPlayers, standing.PurposeInvite, "in")
	b.put("barred", standing.KindPlayers, standing.PurposeDeny)
	testenv.Must(t, l.Load(t.Context()))
	may := func(user string) error { return l.MayPlay(t.Context(), onlyList("vip"), user, "") }
	testenv.Must(t, may("in"))
	b.fail(true)
	testenv.WantErr(t, may("in"), nil, "who is known")
	testenv.WantErr(t, may("new"), errDown, "who is not known")
	testenv.WantErr(t, l.MayPlay(t.Context(), nil, "new", ""), nil, "a campaign for everybody")
	b.fail(false)
	b.put("vip", standing.KindPlayers, standing.PurposeInvite)
	testenv.Must(t, l.Refresh(t.Context()))
	testenv.WantErr(t, may("in"), standing.ErrNotInvited, "taken off")
}

func TestScreen(t *testing.T) {
	l, b := openLists(t, nil)
	b.put("vip", standing.KindPlayers, standing.PurposeInvite, "in")
	b.put("barred", standing.KindPlayers, standing.PurposeDeny, "barred")
	b.put("nets", standing.KindAddresses, standing.PurposeDeny, "192.0.2.0/24")
	testenv.Must(t, l.Load(t.Context()))
	here := []Occupant{{User: "in", Campaign: onlyList("vip")}, {User: "out", Campaign: onlyList("vip")},
		{User: "barred"}, {User: "out"}, {User: "x", Address: "192.0.2.1"}, {User: "barred", Campaign: onlyList("vip")}}
	want := []error{nil, standing.ErrNotInvited, standing.ErrDenied, nil, standing.ErrDenied,
		standing.ErrDenied}
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

// A change is read at once if a node announces it, and within seconds otherwise. The connected players are checked
// until a check has worked.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		looks, down := 0, true
		l, b := openLists(t, func(context.Context) error {
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
			testenv.Equal(t, looks, want, "looks")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Run(ctx) })
		synctest.Wait()
		seen(0)
		b.put("vip", standing.KindPlayers, standing.PurposeInvite)
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
		b.put("vip", standing.KindPlayers, standing.PurposeInvite, "in")
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
		n[netip.MustParsePrefix(p)] = struct{}{}
	}
	for addr, want := range map[string]bool{"203.0.113.9": true, "::ffff:203.0.113.9": true, "2001:db8::1": true,
		"2001:db9::1": false} {
		testenv.Equal(t, n.has(netip.MustParseAddr(addr)), want, "%s", addr)
	}
}
