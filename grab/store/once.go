package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// Marks tell all nodes that something has been done about an outbox entry.
type Marks struct{ *client }

// NewMarks makes a Marks.
func NewMarks(s *Store) *Marks { return &Marks{s.client} }

// Once marks outbox entries, all in one round trip, and tells of each whether it is marked for the first time: true
// for the first caller of all nodes, and false for the others until ttl has passed. After an
// error false also stands for those of which nothing is known.
func (m *Marks) Once(ctx context.Context, refs []rain.EntryRef, ttl time.Duration) (first []bool, err error) {
	// The token is this call's: go-redis may send the same call twice, and both must have the same answer.
	token := rand.Text()
	calls := make([]*redis.Cmd, len(refs))
	send := func() error {
		_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, r := range refs {
				calls[i] = m.scripts.once.EvalSha(ctx, p, []string{m.keys.once(r.Campaign, r.Shard, r.ID)}, token,
					max(1, ttl.Milliseconds()))
			}
			return nil
		})
		return err
	}
	err = send()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		// In a pipeline go-redis does not fall back on the source.
		if err = m.load(ctx); err == nil {
			err = send()
		}
	}
	first = make([]bool, len(refs))
	for i, call := range calls {
		marked, unknown := call.Bool()
		first[i] = marked && unknown == nil
	}
	if m.checked(err) != nil {
		return first, fmt.Errorf("marking %d outbox entries: %w", len(refs), err)
	}
	return first, nil
}
