package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// The errors of this package.
var (
	// ErrNoState says that Redis knows nothing of a campaign's shard: it was never stocked, or Redis has lost it
	// and it has not been restored to its end.
	ErrNoState = errors.New("redis knows nothing of the campaign's shard")
	// ErrAlive says that there is nothing to restore: Redis knows the shard.
	ErrAlive = errors.New("redis knows the campaign's shard, nothing has to be restored")
	// ErrSuperseded says that another restoration of the shard has begun since.
	ErrSuperseded = errors.New("another restoration of the shard has begun")
	// ErrUnsettled says that Redis has lost a shard's state and not its outbox, with entries that the ledger may
	// not have yet.
	ErrUnsettled = errors.New("the outbox of the shard is still there and has to be settled first")
	// ErrClosed says that a campaign is closed and takes no stock any more.
	ErrClosed = errors.New("the campaign's shard is closed")
)

// Options set a Store up. The zero value works.
type Options struct {
	// Namespace begins every key; "" is "rr". Several installations on one Redis each have their own.
	Namespace string
	// Clock is the cluster's time (see Clock); nil is the machine's own, which is right only where Redis runs on
	// the same machine.
	Clock rain.Clock
	// Log receives what an operator should know; nil drops it.
	Log *slog.Logger
}

// Store is the connection to Redis that all types of this package share. Its methods, and theirs, may be called from
// any goroutine.
type Store struct{ *client }

// client is what every type of this package needs of Redis.
type client struct {
	rdb     redis.UniversalClient
	keys    keys
	scripts scripts
	clock   rain.Clock
	log     *slog.Logger
}

// New makes a Store on a client, which stays the caller's to close. Call Load before taps come.
func New(rdb redis.UniversalClient, o Options) *Store {
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{&client{rdb: rdb, keys: keys{o.Namespace}, scripts: newScripts(), clock: o.Clock, log: o.Log}}
}

// Ping tells whether Redis answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checked(s.rdb.Ping(ctx).Err()); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// checked returns the error as it is. Where a node of a Cluster did not answer, it has the cluster's map read again:
// the node's replica may have taken over, and go-redis does not find out by itself.
func (c *client) checked(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var refused redis.Error // Redis itself has answered
	if cluster, ok := c.rdb.(*redis.ClusterClient); ok && !errors.As(err, &refused) {
		cluster.ReloadState(context.Background())
	}
	return err
}
