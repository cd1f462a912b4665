package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/loop"
	"redrain/internal/seal"
	"redrain/lua"
	"redrain/rain"
)

// Options set a Store up. The zero value works.
type Options struct {
	// Namespace begins every key. Several installations on one Redis each have their own. Defaults to "rr".
	Namespace string
	// Clock is the cluster's time (see Clock). Defaults to the machine's clock, which is right only if Redis runs on
	// the same machine.
	Clock rain.Clock
	// Amounts caches the amounts of the campaigns' packets, shared with the rest of the process. Defaults to a new
	// cache.
	Amounts *rain.AmountsCache
	// Ring seals taps and closings. Defaults to a ring with a new random secret, so that nothing is ever paid.
	Ring *seal.Ring
	// Log receives warnings and errors. Defaults to none.
	Log *slog.Logger
}

// Store is the connection to Redis that all types of this package share. Its methods, and theirs, are safe for
// concurrent use; only those of Batch are not.
type Store struct{ *client }

// client holds the dependencies of every type of this package.
type client struct {
	rdb     redis.UniversalClient
	keys    keys
	scripts map[string]*redis.Script // by name
	amounts *rain.AmountsCache
	ring    *seal.Ring
	clock   rain.Clock
	log     *slog.Logger
}

// New returns a Store on a client, which the caller closes. Call Load before taps come.
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
	scripts := map[string]*redis.Script{}
	for name, source := range lua.Scripts() {
		scripts[name] = redis.NewScript(source)
	}
	return &Store{&client{rdb: rdb, keys: keys{o.Namespace}, scripts: scripts, amounts: o.Amounts, ring: o.Ring,
		clock: o.Clock, log: o.Log}}
}

// Checked returns the error unchanged. If a node of a Cluster did not answer, it reloads the cluster's map. The
// node's replica may have taken over, and go-redis does not find out by itself.
func (c *client) Checked(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	var refused redis.Error // Redis itself has answered
	if cluster, ok := c.rdb.(*redis.ClusterClient); ok && !errors.As(err, &refused) {
		cluster.ReloadState(context.Background())
	}
	return err
}

// Load gives every node of Redis the scripts. It is optional: it saves the first taps of a rain from carrying the
// source.
func (s *Store) Load(ctx context.Context) error {
	for _, script := range s.scripts {
		// On a Cluster go-redis sends this to each master and each replica.
		if err := s.Checked(script.Load(ctx, s.rdb).Err()); err != nil {
			return fmt.Errorf("load scripts into redis: %w", err)
		}
	}
	return nil
}

// movingEvery is the interval of retries of a script whose slot is migrating to another node. After movingWithin the
// slot counts as left half moved, which only an operator can mend.
const (
	movingEvery  = 5 * time.Millisecond
	movingWithin = 10 * time.Second
)

// run calls a script with EVALSHA, and maps its errors to those of this package. A node without the script (it was
// restarted, or has taken over) gets the source with one more call, and keeps it. While the slot migrates from one
// node of a Cluster to another, Redis refuses the call without doing anything. Then run retries for movingWithin.
func (c *client) run(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	s := c.scripts[script]
	cmd := s.Run(ctx, c.rdb, keys, args...)
	for began := time.Now(); isMoving(cmd.Err()) && time.Since(began) < movingWithin && loop.Sleep(ctx, movingEvery); {
		cmd = s.Run(ctx, c.rdb, keys, args...)
	}
	if err := c.Checked(cmd.Err()); err != nil {
		cmd.SetErr(named(err))
	}
	return cmd
}

// numbers calls a script that answers with n numbers. With an error they are 0.
func (c *client) numbers(ctx context.Context, n int, script string, keys []string, args ...any) ([]int64, error) {
	answer, err := c.run(ctx, script, keys, args...).Int64Slice()
	if err == nil && len(answer) == n {
		return answer, nil
	}
	return make([]int64, n), cmp.Or(err, errReply)
}

// isMoving reports whether an error says that a slot is migrating. go-redis follows a redirection where it can, and
// gives up after a few tries.
func isMoving(err error) bool {
	return err != nil && slices.ContainsFunc([]string{"TRYAGAIN", "MOVED", "ASK"},
		func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
