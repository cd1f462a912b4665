package names

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/wire"
)

const (
	// waiting is the number of names that may wait to be published. Further ones are dropped, and requested again while
	// their players are shown.
	waiting = 8192
	// atOnce is the number of names published in one call.
	atOnce = 200
	// within is the limit of publishing and of reading.
	within = time.Second
	// publishedFor is the longest time for which a published name is not published again.
	publishedFor = time.Minute
)

// Store keeps the names that nodes have published. [store.Names] implements it.
type Store interface {
	Tell(ctx context.Context, named []store.Named) error
	Read(ctx context.Context, users []string) ([]store.Named, error)
}

// Options of a Book. All are required unless stated otherwise.
type Options struct {
	Store      Store
	Hosts      Hosts                                  // hosts of avatars; nil: no avatars
	Here       func(user string) (wire.Profile, bool) // the display profile of a player of this node
	Banned     func(user string) bool                 // players who are shown under a masked id only
	Recoverer  *loop.Recoverer                        // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Book publishes and reads display profiles. Its Run must be started.
type Book struct {
	o    Options
	lost prometheus.Counter
	wake loop.Wake

	mu        sync.Mutex
	pending   []store.Named
	published map[store.Named]bool // pending, or published since
	since     time.Time
}

// New returns an empty book.
func New(o Options) *Book {
	b := &Book{o: o, wake: loop.NewWake(), published: map[store.Named]bool{}, since: time.Now(),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_names_lost_total",
			Help: "Names of players that could not be sent to the other nodes; they are shown under masked ids " +
				"meanwhile.",
		})}
	o.Registerer.MustRegister(b.lost)
	return b
}

// Profile returns the display profile of a token's player.
func (b *Book) Profile(g auth.Grant) wire.Profile { return b.checked(g.Name, g.Picture, g.Face) }

func (b *Book) checked(name, avatar, face string) wire.Profile {
	if !IsFace(face) {
		face = ""
	}
	return wire.Profile{Name: Clean(name), Avatar: b.o.Hosts.Avatar(avatar), Face: face}
}

// Called publishes the names of those of the players who are on this node. It does not wait.
func (b *Book) Called(users []string) {
	for _, user := range users {
		profile, here := b.o.Here(user)
		if !here || profile == (wire.Profile{}) {
			continue
		}
		b.add(store.Named{User: user, Name: profile.Name, Avatar: profile.Avatar, Face: profile.Face})
	}
	b.wake.Signal()
}

// add queues a name to be published, unless that was done lately.
func (b *Book) add(one store.Named) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.since) > publishedFor {
		b.published, b.since = map[store.Named]bool{}, time.Now()
	}
	switch {
	case b.published[one]:
	case len(b.pending) == waiting:
		b.lost.Inc()
	default:
		b.published[one] = true
		b.pending = append(b.pending, one)
	}
}

// Profiles returns the published profiles. They are checked again, because another writer to Redis may have changed
// them.
func (b *Book) Profiles(ctx context.Context, users []string) (map[string]wire.Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	named, err := b.o.Store.Read(ctx, users)
	if err != nil {
		return nil, err
	}
	profiles := make(map[string]wire.Profile, len(named))
	for _, one := range named {
		profiles[one.User] = wire.Profile{}
		if !b.o.Banned(one.User) {
			profiles[one.User] = b.checked(one.Name, one.Avatar, one.Face)
		}
	}
	return profiles, nil
}

// Known returns the profiles of players that this node has, or any other has published. After an error those of this
// node are complete.
func (b *Book) Known(ctx context.Context, users []string) (map[string]wire.Profile, error) {
	profiles, err := b.Profiles(ctx, users)
	if profiles == nil {
		profiles = map[string]wire.Profile{}
	}
	for _, user := range users {
		if profile, here := b.o.Here(user); here && profile.Name != "" {
			profiles[user] = profile
		}
	}
	return profiles, err
}

// Run publishes names until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "names", Wake: b.wake, Do: b.publish, Recoverer: b.o.Recoverer, Log: b.o.Log,
		Work: "publish players' names; they are shown under masked ids"})
}

// publish publishes the waiting names in batches until one fails. The rest are published when they are requested again.
func (b *Book) publish(ctx context.Context) error {
	b.mu.Lock()
	rest := b.pending
	b.pending = nil
	b.mu.Unlock()
	defer func() { b.lose(rest) }() // also after a panic
	for len(rest) > 0 {
		n := min(atOnce, len(rest))
		if err := b.tellSome(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (b *Book) tellSome(ctx context.Context, some []store.Named) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return b.o.Store.Tell(ctx, some)
}

// lose counts names that could not be published.
func (b *Book) lose(rest []store.Named) {
	b.lost.Add(float64(len(rest)))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range rest {
		delete(b.published, one)
	}
}
