package store

import (
	"context"
	"fmt"
	"strings"

	"redrain/rain"
)

// rangesAtOnce is the most ranges of stock that one call moves or reads.
const rangesAtOnce = 500

// mostMoveID is the longest id of a move, limited by the ledger.
const mostMoveID = 64

// Moves moves stock from one shard to another, step by step. Each step may be repeated.
type Moves struct{ *client }

// NewMoves returns a Moves.
func NewMoves(s *Store) *Moves { return &Moves{s.client} }

// Lend takes up to count packets out of a shard's stock for another shard. move is an id made for this call alone. A
// repeated call returns the same answer until Done, also with a count of 0. lent is nil if the shard has nothing to
// lend.
func (m *Moves) Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent, error) {
	k := m.keys.shard(campaign, from)
	text, err := m.run(ctx, "lend", []string{k.State, k.Stock, k.Lent}, move, to, count, rangesAtOnce).Text()
	if err == nil && text == "" {
		return nil, nil
	}
	var lent rain.Lent
	if err == nil {
		lent, err = parseLent(move, text)
	}
	if err != nil {
		return nil, fmt.Errorf("lend stock of %s.%d: %w", campaign, from, err)
	}
	return &lent, nil
}

// Borrow puts lent stock into the stock of its new shard, once, and returns the move's number among the moves of that
// shard.
func (m *Moves) Borrow(ctx context.Context, campaign string, lent rain.Lent) (number int64, err error) {
	k, at := m.keys.shard(campaign, lent.To), m.clock()
	args := []any{lent.Move, lent.Numbers.Count(), at, m.ring.Closing(campaign, lent.To, at)}
	for _, r := range lent.Numbers {
		args = append(args, rain.Numbers{r}.String())
	}
	number, err = m.run(ctx, "borrow", []string{k.State, k.Stock, k.Borrowed, k.Outbox}, args...).Int64()
	return number, wrap(err, "borrow stock into %s.%d", campaign, lent.To)
}

// Done removes the move from the shard that has lent.
func (m *Moves) Done(ctx context.Context, campaign string, from int, move string) error {
	err := m.rdb.HDel(ctx, m.keys.shard(campaign, from).Lent, move).Err()
	return wrap(m.Checked(err), "end a move of stock from %s.%d", campaign, from)
}

// Lose closes a shard for taps if Redis does not have a known outbox entry of it, or a known move. It reports whether
// it did.
func (m *Moves) Lose(ctx context.Context, campaign string, shard int, entry string, moves int64) (lost bool,
	err error) {
	return m.lose(ctx, campaign, shard, entry, moves, "", 0)
}

// Lent reports whether a shard still has a move from there. It does until the move is done, or the shard is rebuilt.
func (m *Moves) Lent(ctx context.Context, campaign string, from int, move string) (bool, error) {
	known, err := m.rdb.HExists(ctx, m.keys.shard(campaign, from).Lent, move).Result()
	return known, wrap(m.Checked(err), "find a move of stock from %s.%d", campaign, from)
}

// Forgot closes a shard for taps if it lacks a move in flight from there, though it was not rebuilt since it lent. It
// reports whether it did.
func (m *Moves) Forgot(ctx context.Context, campaign string, from int, lent rain.Lent) (lost bool, err error) {
	return m.lose(ctx, campaign, from, "0-0", 0, lent.Move, lent.Epoch)
}

func (c *client) lose(ctx context.Context, campaign string, shard int, entry string, moves int64, move string,
	epoch int64) (lost bool, err error) {
	k := c.keys.shard(campaign, shard)
	lost, err = c.run(ctx, "lose", []string{k.State, k.Lent}, entry, moves, move, epoch).Bool()
	return lost, wrap(err, "check the state of %s.%d", campaign, shard)
}

// parseLent parses a move in the hash of lent stock: "<to> <number> <epoch> <ranges>".
func parseLent(move, text string) (rain.Lent, error) {
	f := strings.SplitN(text, " ", 4)
	if len(f) != 4 {
		return rain.Lent{}, fmt.Errorf("move %s: %q: %w", move, text, rain.ErrUnreadable)
	}
	to, ok1 := rain.ParseInt(f[0])
	n, ok2 := rain.ParseInt(f[1])
	epoch, ok3 := rain.ParseInt(f[2])
	numbers, err := rain.ParseNumbers(f[3], rain.MaxPackets)
	if !ok1 || !ok2 || !ok3 || err != nil || len(numbers) == 0 || len(numbers) > rangesAtOnce ||
		len(move) > mostMoveID ||
		to >= rain.MaxShards {
		return rain.Lent{}, fmt.Errorf("move %s: %q: %w", move, text, rain.ErrUnreadable)
	}
	return rain.Lent{Move: move, To: int(to), Number: n, Epoch: epoch, Numbers: numbers}, nil
}
