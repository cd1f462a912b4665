package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/server/timeout"
)

// RefreshEvery is the interval at which a node refreshes its mirrors without a hint from another node.
const RefreshEvery = 2 * time.Second

// MirrorOptions are the settings of a Mirror. All are required unless stated otherwise.
type MirrorOptions[R any] struct {
	Part string // names the mirror in metrics, alarms and the log
	Work string // the description of Read, for the log of an outage
	// Read updates this node's copy, and returns the new elements.
	Read func(ctx context.Context) ([]R, error)
	// Follow is called with each new element in order, once the copy has it, but not for Load. After an error it is
	// called again with the same element. An element that makes it panic is dropped.
	Follow    func(ctx context.Context, fresh R) error
	Recoverer *loop.Recoverer // nil: panics are logged only
	Log       *slog.Logger
}

// Mirror keeps a copy of a small table that every node needs: bans, verdicts, lists. It reads the changes after a hint
// from another node, and every two seconds. Its Run must be started. A nil Mirror
// reads nothing.
type Mirror[R any] struct {
	o    MirrorOptions[R]
	wake loop.Wake

	mu    sync.Mutex // one Refresh at a time
	fresh []R        // not followed yet
}

// NewMirror returns an empty mirror. Load it before players are admitted.
func NewMirror[R any](o MirrorOptions[R]) *Mirror[R] { return &Mirror[R]{o: o, wake: loop.NewWake()} }

// Load reads everything, and follows nothing: no player was admitted yet.
func (m *Mirror[R]) Load(ctx context.Context) error {
	if m == nil {
		return nil
	}
	_, err := m.read(ctx)
	return err
}

func (m *Mirror[R]) read(ctx context.Context) ([]R, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	return m.o.Read(ctx)
}

// Refresh reads the new elements and follows them.
func (m *Mirror[R]) Refresh(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh, err := m.read(ctx)
	m.fresh = append(m.fresh, fresh...)
	for len(m.fresh) > 0 {
		failed := m.o.Recoverer.Try(m.o.Part, func() error { return m.o.Follow(ctx, m.fresh[0]) })
		err = errors.Join(err, failed)
		if failed != nil && !errors.Is(failed, loop.ErrPanic) {
			break
		}
		m.fresh = m.fresh[1:]
	}
	return err
}

// Announced records a hint that there is a new element. It does not wait: Run reads it.
func (m *Mirror[R]) Announced() {
	if m != nil {
		m.wake.Signal()
	}
}

// Run keeps the copy fresh until ctx ends.
func (m *Mirror[R]) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: m.o.Part, Work: m.o.Work, Every: RefreshEvery, Wake: m.wake, Do: m.Refresh,
		Recoverer: m.o.Recoverer, Log: m.o.Log})
}
