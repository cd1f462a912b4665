package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// ErrOtherRedis means that this node sees another Redis than its installation's. For the rest of the node, that is as
// if Redis were away.
var ErrOtherRedis = errors.New("this redis is not the one of this installation")

// Guard stands before all commands of a client. While it is shut they fail with ErrOtherRedis.
type Guard struct{ reason atomic.Pointer[string] }

// NewGuard puts an open guard before a client, which has not been used yet.
func NewGuard(rdb redis.UniversalClient) *Guard {
	g := &Guard{}
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(g) })
	} else {
		rdb.AddHook(g)
	}
	return g
}

// Shut makes all commands fail; the error has the reason.
func (g *Guard) Shut(reason string) { g.reason.Store(&reason) }

// Open lets the commands pass.
func (g *Guard) Open() { g.reason.Store(nil) }

// passKey marks the context of commands that always pass.
type passKey struct{}

// refuses returns the error of a command, or nil. The client's own commands pass.
func (g *Guard) refuses(ctx context.Context, cmd redis.Cmder) error {
	reason := g.reason.Load()
	if reason == nil || ctx.Value(passKey{}) != nil ||
		slices.Contains([]string{"hello", "auth", "client", "cluster", "select", "readonly"}, cmd.Name()) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherRedis, *reason)
}

// DialHook implements redis.Hook.
func (g *Guard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (g *Guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.refuses(ctx, cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (g *Guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := g.refuses(ctx, cmd); err != nil {
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
				return err
			}
		}
		return next(ctx, cmds)
	}
}

// Identity is the name that Redis has in its installation, "" if it has none yet.
type Identity struct{ *client }

// NewIdentity returns an Identity. A guard does not stop its commands.
func NewIdentity(s *Store) *Identity { return &Identity{s.client} }

// Read returns the name, and the replication ids of the masters; that of the name's master is the first.
func (i *Identity) Read(ctx context.Context) (name string, histories []string, err error) {
	ctx = context.WithValue(ctx, passKey{}, true)
	s := Store{i.client}
	var id *redis.SliceCmd // not GET: an error would have another master looked for
	var info *redis.StringCmd
	own := ""
	err = s.OnMaster(ctx, i.keys.installation(), func(addr string, p redis.Pipeliner) error {
		own, id, info = addr, p.MGet(ctx, i.keys.installation()), p.Info(ctx, "replication")
		return nil
	})
	if err != nil {
		return "", nil, fmt.Errorf("read the name of redis: %w", i.Checked(err))
	}
	histories = append(histories, History(info.Val()))
	others := make(chan string, maxMasters)
	err = s.EachMaster(ctx, func(ctx context.Context, addr string, master redis.Cmdable) {
		if info, err := master.Info(ctx, "replication").Result(); err == nil && addr != own {
			select {
			case others <- History(info):
			default:
			}
		}
	})
	close(others)
	for history := range others {
		histories = append(histories, history)
	}
	name, _ = id.Val()[0].(string)
	return name, histories, err
}

// maxMasters is more than a Cluster has.
const maxMasters = 1000

// Set names a Redis that has no name yet.
func (i *Identity) Set(ctx context.Context, name string) error {
	ctx = context.WithValue(ctx, passKey{}, true)
	return wrap(i.Checked(i.rdb.SetNX(ctx, i.keys.installation(), name, 0).Err()), "name redis")
}
