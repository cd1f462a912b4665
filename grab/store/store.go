package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/seal"
	"redrain/rain"
)

// Options set a Store up. The zero value works.
type Options struct {
	// Namespace begins every key; "" is "rr". Several installations on one Redis each have their own.
	Namespace string
	// Clock is the cluster's time (see Clock); nil is the machine's own, which is right only where Redis runs on
	// the same machine.
	Clock rain.Clock
	// Amounts is what the campaigns' packets hold, shared with the rest of the process; nil makes one.
	Amounts *rain.AmountsCache
	// Ring seals taps and closings; nil makes one of a secret that nobody else knows, so that nothing is ever paid.
	Ring *seal.Ring
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
	amounts *rain.AmountsCache
	ring    *seal.Ring
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
	if o.Amounts == nil {
		o.Amounts = rain.NewAmountsCache()
	}
	if o.Ring == nil {
		o.Ring = seal.NewRing(seal.NewSecret())
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{&client{rdb: rdb, keys: keys{o.Namespace}, scripts: newScripts(), amounts: o.Amounts, ring: o.Ring,
		clock: o.Clock, log: o.Log}}
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

// Load gives every node of Redis the scripts. It is not needed for anything to work: it saves the first taps of a
// rain from carrying the source along.
func (s *Store) Load(ctx context.Context) error { return s.load(ctx) }

func (c *client) load(ctx context.Context) error {
	for _, s := range c.scripts.all() {
		// On a Cluster go-redis sends this to each master and each replica.
		if err := c.checked(s.Load(ctx, c.rdb).Err()); err != nil {
			return fmt.Errorf("loading scripts into redis: %w", err)
		}
	}
	return nil
}

// movingEvery is how often a script is tried again whose slot is on its way to another node.
const movingEvery = 5 * time.Millisecond

// run calls a script and gives its errors the names of this package. While its slot is on its way from one node of a
// Cluster to another, Redis refuses it without doing anything; then it is tried again until ctx ends.
func (c *client) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := s.Run(ctx, c.rdb, keys, args...)
	for isMoving(cmd.Err()) && pause(ctx, movingEvery) {
		cmd = s.Run(ctx, c.rdb, keys, args...)
	}
	if err := c.checked(cmd.Err()); err != nil {
		cmd.SetErr(named(err))
	}
	return cmd
}

// isMoving tells whether an error says that a slot is on its way from one node to another. go-redis follows it where it
// can, and gives up after a few tries.
func isMoving(err error) bool {
	return err != nil && slices.ContainsFunc([]string{"TRYAGAIN", "MOVED", "ASK"},
		func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// pause waits for a while; false where ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
