package admission

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/timeout"
)

// ListSource stores the lists. [ledger.Lists] implements it.
type ListSource interface {
	Heads(ctx context.Context) ([]standing.List, error)
	Members(ctx context.Context, name, after string, limit int) (list []ledger.ListMember, next string, err error)
	Among(ctx context.Context, name string, who []string) (on map[string]int64, err error)
}

// ListsOptions are the options of Lists. All are required unless stated otherwise.
type ListsOptions struct {
	Source     ListSource
	Changed    func(ctx context.Context) error // screens the players of this node again: see Screen
	Recoverer  *loop.Recoverer                 // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Lists are a node's copy of the lists. Load them before players are admitted; their Run must be started.
type Lists struct {
	*cluster.Mirror[listsChange] // this node's players are checked again

	o       ListsOptions
	refused *prometheus.CounterVec

	mu    sync.RWMutex
	now   listsKnown
	found *lru.Cache[listsQuestion, bool]
}

// listsChange is one refresh that has read changed lists.
type listsChange struct{}

// listsKnown holds the result of one refresh.
type listsKnown struct {
	revisions map[string]int64
	denied    []string // lists of excluded players
	networks  map[string]networks
}

// listsQuestion is the cache key of a player's membership of a list at a revision. A newer revision is looked up again.
type listsQuestion struct {
	list     string
	revision int64
	who      string
}

const (
	// remembered is the size of a node's cache of answers: a waiting player asks every few seconds.
	remembered = 100_000
	// networksAtOnce is the number of networks that one query reads.
	networksAtOnce = 5000
)

// NewLists returns lists that are not loaded yet.
func NewLists(o ListsOptions) *Lists {
	found, err := lru.New[listsQuestion, bool](remembered)
	if err != nil {
		panic(err) // only for a size below 1
	}
	l := &Lists{o: o, found: found, refused: newListsRefused(o.Registerer)}
	l.Mirror = cluster.NewMirror(cluster.MirrorOptions[listsChange]{
		Part: "lists", Work: "read the lists of players; continuing with the cached ones", Read: l.read,
		Follow:    func(ctx context.Context, _ listsChange) error { return o.Changed(ctx) },
		Recoverer: o.Recoverer, Log: o.Log,
	})
	return l
}

// read reads the lists. It returns one change if any of them has changed.
func (l *Lists) read(ctx context.Context) (changes []listsChange, err error) {
	heads, err := l.o.Source.Heads(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.RLock()
	was := l.now
	l.mu.RUnlock()
	is := listsKnown{revisions: make(map[string]int64, len(heads)), networks: map[string]networks{}}
	for _, h := range heads {
		is.revisions[h.Name] = h.Revision
		same := was.revisions[h.Name] == h.Revision
		if !same {
			changes = make([]listsChange, 1)
		}
		switch {
		case h.Purpose != standing.PurposeDeny:
		case h.Kind == standing.KindPlayers:
			is.denied = append(is.denied, h.Name)
		case same:
			is.networks[h.Name] = was.networks[h.Name]
		default:
			if is.networks[h.Name], err = l.readNetworks(ctx, h.Name); err != nil {
				return nil, err
			}
		}
	}
	for name := range was.revisions {
		if _, exists := is.revisions[name]; !exists {
			changes = make([]listsChange, 1)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = is
	return changes, nil
}

func (l *Lists) readNetworks(ctx context.Context, name string) (networks, error) {
	all := networks{}
	for after := ""; ; {
		some, next, err := l.o.Source.Members(ctx, name, after, networksAtOnce)
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			if network, err := standing.ParseNetwork(m.Who); err == nil { // else it was written by hand
				all[network] = struct{}{}
			}
		}
		if after = next; after == "" {
			return all, nil
		}
	}
}

// MayPlay returns nil if a player may take part in a campaign, else standing.ErrDenied or standing.ErrNotInvited. It
// returns a back end's error if the answer depends on it. A nil campaign means any, and an empty user a new player.
func (l *Lists) MayPlay(ctx context.Context, c *rain.Campaign, user, address string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Glance) // of all lists together
	defer cancel()
	l.mu.RLock()
	known := l.now
	l.mu.RUnlock()
	err := l.judge(known, Occupant{user, address, c}, func(list string) (bool, error) {
		return l.isOn(ctx, listsQuestion{list, known.revisions[list], user})
	})
	switch {
	case errors.Is(err, standing.ErrDenied):
		l.refused.WithLabelValues("denied").Inc()
	case errors.Is(err, standing.ErrNotInvited):
		l.refused.WithLabelValues("not_invited").Inc()
	}
	return err
}

// judge returns the reason for which a player may not take part, or the error of a list on which that depends. If a
// denying list cannot be read, the player is admitted: the posters read it too, and do not pay a denied player's wins.
func (l *Lists) judge(known listsKnown, one Occupant, isOn func(list string) (bool, error)) error {
	if l.DeniedAddress(one.Address) {
		return standing.ErrDenied
	}
	for _, list := range known.denied {
		if one.User == "" {
			break
		}
		if on, err := isOn(list); err == nil && on {
			return standing.ErrDenied
		}
	}
	if one.Campaign == nil || one.Campaign.Invited() == "" {
		return nil
	}
	on, err := isOn(one.Campaign.Invited())
	if err == nil && !on {
		err = standing.ErrNotInvited
	}
	return err
}

// DeniedAddress reports whether a list denies an address.
func (l *Lists) DeniedAddress(address string) bool {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, all := range l.now.networks {
		if all.has(addr) {
			return true
		}
	}
	return false
}

func (l *Lists) isOn(ctx context.Context, q listsQuestion) (bool, error) {
	if on, known := l.found.Get(q); known && q.revision != 0 {
		return on, nil
	}
	on, err := l.o.Source.Among(ctx, q.list, []string{q.who})
	if err != nil {
		l.o.Log.Warn("look up a player in a list; if it denies, the player is admitted meanwhile", "user", q.who,
			"list", q.list, "err", err)
		return false, err
	}
	_, is := on[q.who]
	l.found.Add(q, is)
	return is, nil
}

// Occupant is a player on this node.
type Occupant struct {
	User, Address string
	Campaign      *rain.Campaign // nil: this node does not have it
}

// Screen returns for each player nil, or the reason for which the player may not stay. If a list cannot be read, it
// disconnects no player, and err is set.
func (l *Lists) Screen(ctx context.Context, all []Occupant) (why []error, failed error) {
	why = make([]error, len(all))
	l.mu.RLock()
	known := l.now
	l.mu.RUnlock()
	ask := map[string][]string{} // by list
	for _, one := range all {
		for _, list := range known.denied {
			ask[list] = append(ask[list], one.User)
		}
		if one.Campaign != nil && one.Campaign.Invited() != "" {
			ask[one.Campaign.Invited()] = append(ask[one.Campaign.Invited()], one.User)
		}
	}
	on := map[string]map[string]int64{}
	for list, who := range ask {
		ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
		slices.Sort(who)
		some, err := l.o.Source.Among(ctx, list, slices.Compact(who))
		cancel()
		if err != nil {
			failed = err
			continue
		}
		on[list] = some
	}
	for i, one := range all {
		err := l.judge(known, one, func(list string) (bool, error) {
			users, isRead := on[list]
			if !isRead {
				return false, failed
			}
			_, is := users[one.User]
			return is, nil
		})
		if errors.Is(err, standing.ErrDenied) || errors.Is(err, standing.ErrNotInvited) {
			why[i] = err
		}
	}
	return why, failed
}

// networks are networks of any length.
type networks map[netip.Prefix]struct{}

func (n networks) has(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for bits := range addr.BitLen() + 1 {
		p, err := addr.Prefix(bits)
		if _, is := n[p]; is && err == nil {
			return true
		}
	}
	return false
}

func newListsRefused(reg prometheus.Registerer) *prometheus.CounterVec {
	c := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_list_refusals_total",
		Help: "Refused, by reason: not_invited (not on the campaign's list), denied (on a list of excluded players).",
	}, []string{"reason"})
	for _, reason := range []string{"not_invited", "denied"} {
		c.WithLabelValues(reason)
	}
	return c
}
