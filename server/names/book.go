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
	// waiting is how many names may wait to be told. More are not told: whoever is shown on is asked for again.
	waiting = 1024
	// atOnce is how many names are told in one go.
	atOnce = 200
	// within is how long telling and reading may take.
	within = time.Second
	// toldFor is for how long at most a name that was told is not told again.
	toldFor = time.Minute
)

// Store keeps the names that all nodes tell. [store.Names] does.
type Store interface {
	Tell(ctx context.Context, named []store.Named) error
	Read(ctx context.Context, users []string) ([]store.Named, error)
}

// Options of a book. All are needed but those that say so.
type Options struct {
	Store      Store
	Hosts      Hosts                               // where pictures may come from; nil: there are none
	Here       func(user string) (wire.Face, bool) // how a player of this node is shown
	Banned     func(user string) bool              // players who are shown under a masked id only
	Recoverer  *loop.Recoverer                     // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Book tells how players are shown. Its Run must be started.
type Book struct {
	o    Options
	lost prometheus.Counter
	wake loop.Wake

	mu      sync.Mutex
	pending []store.Named
	told    map[store.Named]bool // are pending, or were told since
	since   time.Time
}

// New makes a book.
func New(o Options) *Book {
	b := &Book{o: o, wake: loop.NewWake(), told: map[store.Named]bool{}, since: time.Now(),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_names_lost_total",
			Help: "Names of players that could not be told to the other nodes; they are shown under masked ids " +
				"meanwhile.",
		})}
	o.Registerer.MustRegister(b.lost)
	return b
}

// Face is how the player of a token is shown.
func (b *Book) Face(g auth.Grant) wire.Face {
	return wire.Face{Name: Clean(g.Name), Avatar: b.o.Hosts.Avatar(g.Picture)}
}

// Called tells all nodes the names of those of the players who are here. It does not wait.
func (b *Book) Called(users []string) {
	for _, user := range users {
		face, here := b.o.Here(user)
		if !here || face == (wire.Face{}) {
			continue
		}
		b.add(store.Named{User: user, Name: face.Name, Avatar: face.Avatar})
	}
	b.wake.Signal()
}

// add notes a name that is to be told, unless it was told lately.
func (b *Book) add(one store.Named) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.since) > toldFor {
		b.told, b.since = map[store.Named]bool{}, time.Now()
	}
	switch {
	case b.told[one]:
	case len(b.pending) == waiting:
		b.lost.Inc()
	default:
		b.told[one] = true
		b.pending = append(b.pending, one)
	}
}

// Faces are those that any node has told. What stands there was not necessarily written by a node, so it is checked
// again.
func (b *Book) Faces(ctx context.Context, users []string) (map[string]wire.Face, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	named, err := b.o.Store.Read(ctx, users)
	if err != nil {
		return nil, err
	}
	faces := make(map[string]wire.Face, len(named))
	for _, one := range named {
		face := wire.Face{Name: Clean(one.Name), Avatar: b.o.Hosts.Avatar(one.Avatar)}
		if b.o.Banned(one.User) {
			face = wire.Face{}
		}
		faces[one.User] = face
	}
	return faces, nil
}

// Name is what a player is called, as far as this node or any other knows; "" where nobody does.
func (b *Book) Name(ctx context.Context, user string) string {
	if face, here := b.o.Here(user); here && face.Name != "" {
		return face.Name
	}
	faces, err := b.Faces(ctx, []string{user})
	if err != nil {
		b.o.Log.Debug("a player's name could not be read", "err", err)
	}
	return faces[user].Name
}

// Run tells names until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "names", Wake: b.wake, Do: b.tell, Recoverer: b.o.Recoverer, Log: b.o.Log,
		Work: "telling other nodes how players are shown; they are shown under masked ids"})
}

// tell sends the waiting names, some at a time, until it fails. The rest are sent when their players are named again.
func (b *Book) tell(ctx context.Context) error {
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

// lose counts names that could not be told.
func (b *Book) lose(rest []store.Named) {
	b.lost.Add(float64(len(rest)))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range rest {
		delete(b.told, one)
	}
}
