package confirm

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Moves moves stock from one shard to another. The loss of a master must not take back a step that later steps build
// on. So unless the mode is Redis, a step counts only when it outlives its master.
type Moves struct {
	*store.Moves

	c *Confirmer
}

// NewMoves returns a Moves.
func NewMoves(c *Confirmer) *Moves { return &Moves{store.NewMoves(c.store), c} }

// errStepLost means that a step of a move is not in Redis any more.
var errStepLost = errors.New("redis has forgotten a step of a move of stock; it is carried on from what is left")

// Lend is store.Moves.Lend, and waits until the step outlives its master. After an error it may have been lent all
// the same.
func (m *Moves) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent, error) {
	lent, err := m.Moves.Lend(ctx, campaign, from, to, move, count)
	if err != nil || lent == nil || m.c.mode == Redis {
		return lent, err
	}
	k := m.c.store.Keys(campaign, from)
	if err := m.lasts(ctx, k, k.Lent, move); err != nil {
		return nil, fmt.Errorf("confirm stock lent by %s.%d: %w", campaign, from, err)
	}
	return lent, nil
}

// Borrow is store.Moves.Borrow, and waits until the step outlives its master. After an error it may have been
// borrowed all the same.
func (m *Moves) Borrow(ctx context.Context, campaign string, lent rain.Lent) (int64, error) {
	number, err := m.Moves.Borrow(ctx, campaign, lent)
	if err != nil || m.c.mode == Redis {
		return number, err
	}
	k := m.c.store.Keys(campaign, lent.To)
	if err := m.lasts(ctx, k, k.Borrowed, lent.Move); err != nil {
		return 0, fmt.Errorf("confirm stock borrowed by %s.%d: %w", campaign, lent.To, err)
	}
	return number, nil
}

// lasts returns nil if a move's field of a hash outlives its master.
func (m *Moves) lasts(ctx context.Context, k store.Keys, key, move string) error {
	var there *redis.BoolCmd
	err := m.c.replicas.outlasting(ctx, k, func(p redis.Pipeliner) { there = p.HExists(ctx, key, move) })
	if err == nil && !there.Val() {
		err = errStepLost
	}
	return m.c.store.Checked(err)
}
