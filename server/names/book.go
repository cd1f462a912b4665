package names

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/rounds"
	"redrain/internal/wire"
)

const (
	// part names the rounds where a panic in one is logged and counted.
	part = "names"
	// waiting is how many names may wait to be told. More are not told: whoever is shown on is asked for again.
	waiting = 1024
	// atOnce is how many names are told in one go.
	atOnce = 200
	// within is how long telling and reading may take.
	within = time.Second
	// knownFor is for how long a name that was told is not told again.
	knownFor = time.Minute
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
	Guard      *rounds.Guard                       // hears of a round that panics; nil: it is logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Book tells how players are shown. Its Run must be started.
type Book struct {
	o      Options
	called chan store.Named
	lost   prometheus.Counter
}

// New makes a book.
func New(o Options) *Book {
	b := &Book{o: o, called: make(chan store.Named, waiting), lost: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "redrain_names_lost_total",
		Help: "Names of players that could not be told to the other nodes; they are shown under masked ids meanwhile.",
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
		select {
		case b.called <- store.Named{User: user, Name: face.Name, Avatar: face.Avatar}:
		default:
			b.lost.Inc()
		}
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
	told, since := map[store.Named]bool{}, time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case first := <-b.called:
			if time.Since(since) > knownFor {
				told, since = map[store.Named]bool{}, time.Now()
			}
			ok := false
			b.o.Guard.Do(part, func() { ok = b.tell(ctx, b.fresh(first, told)) })
			if !ok {
				clear(told)
			}
		}
	}
}

// fresh are names that wait and were not told of late, which they are then.
func (b *Book) fresh(first store.Named, told map[store.Named]bool) []store.Named {
	var fresh []store.Named
	for next := first; ; {
		if !told[next] {
			told[next] = true
			fresh = append(fresh, next)
		}
		if len(fresh) == atOnce {
			return fresh
		}
		select {
		case next = <-b.called:
		default:
			return fresh
		}
	}
}

func (b *Book) tell(ctx context.Context, named []store.Named) (ok bool) {
	if len(named) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := b.o.Store.Tell(ctx, named); err != nil {
		b.lost.Add(float64(len(named)))
		b.o.Log.Debug("players are shown under masked ids for now", "players", len(named), "err", err)
		return false
	}
	return true
}
