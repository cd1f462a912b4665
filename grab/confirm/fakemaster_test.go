package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/testenv"
	"redrain/rain"
)

// fakeMaster makes the in-process Redis a master with replicas. It answers WAIT and the commands that ask about
// replicas.
type fakeMaster struct {
	info, nodes string // its answers to INFO replication and to CLUSTER NODES
	online      string // INFO replication with those that are online when ROLE is asked; "" is info
	acks        int64  // how many of them acknowledge: the first
	counted     int64  // how many more WAIT counts that ROLE does not have
	full        bool   // it refuses SET
	failed      error  // of everything, or of the command named only
	failing     string
	asked       []string
}

func (*fakeMaster) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *fakeMaster) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.ProcessPipelineHook(func(ctx context.Context, cmds []redis.Cmder) error {
			return next(ctx, cmds[0])
		})(ctx, []redis.Cmder{cmd})
	}
}

func (m *fakeMaster) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if slices.Contains([]string{"hello", "client", "command"}, cmds[0].Name()) { // the client's own
			return next(ctx, cmds)
		}
		var names []string
		var rest []redis.Cmder
		for _, cmd := range cmds {
			names = append(names, cmd.Name())
			failed := m.failed != nil && (m.failing == "" || m.failing == cmd.Name())
			if failed || m.full && cmd.Name() == "set" {
				m.asked = append(m.asked, strings.Join(names, " "))
				err := m.failed
				if err == nil {
					err = refusal("OOM command not allowed")
				}
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
				return err
			}
			switch cmd := cmd.(type) {
			case *redis.IntCmd:
				if cmd.Name() == "wait" {
					args := cmd.Args()
					within, ok := args[2].(int64)
					names[len(names)-1] = fmt.Sprintf("wait %v", args[1])
					if !ok || within < 1 || within > 500 {
						names[len(names)-1] += fmt.Sprintf(" for %v", args[2])
					}
					cmd.SetVal(m.acks + m.counted)
					continue
				}
			case *redis.Cmd:
				if cmd.Name() == "role" {
					cmd.SetVal(m.role())
					continue
				}
			case *redis.StringCmd:
				if cmd.Name() == "info" {
					cmd.SetVal(m.info)
					continue
				}
				if cmd.Name() == "cluster" {
					cmd.SetVal(m.nodes)
					continue
				}
			}
			rest = append(rest, cmd)
		}
		m.asked = append(m.asked, strings.Join(names, " "))
		if len(rest) == 0 {
			return nil
		}
		return next(ctx, rest)
	}
}

// role is the master's answer to ROLE. The master has written 100 bytes.
func (m *fakeMaster) role() []any {
	online := m.online
	if online == "" {
		online = m.info
	}
	copying, _, err := connected(online)
	if err != nil {
		return []any{"slave", "127.0.0.1", int64(1), "connected", int64(100)}
	}
	list := []any{}
	for i, c := range copying {
		ip, port, _ := strings.Cut(c.name, ":")
		offset := "99"
		if int64(i) < m.acks {
			offset = "100"
		}
		list = append(list, []any{ip, port, offset})
	}
	return []any{"master", int64(100), list}
}

// refusal is an answer of Redis itself.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

const (
	alone    = "role:master\r\nconnected_slaves:0\r\n" + history
	followed = "role:master\r\nconnected_slaves:1\r\n" + fourth + history
	twice    = "role:master\r\nconnected_slaves:2\r\n" + fourth + fifth + history
	history  = "master_replid:R\r\n"
	fourth   = "slave0:ip=127.0.0.1,port=4,state=online,offset=100,lag=0\r\n"
	fifth    = "slave1:ip=127.0.0.1,port=5,state=online,offset=100,lag=0\r\n"

	me     = "aa 127.0.0.1:1@11 myself,master - 0 0 7 connected 0-16383\n"
	heir   = "dd 127.0.0.1:4@14 slave aa 0 999999000 7 connected\n"
	second = "ee 127.0.0.1:5@15 slave aa 0 999999000 7 connected\n"
	barred = "ee 127.0.0.1:5@15 slave,nofailover aa 0 999999000 7 connected\n"
	behind = "ee 10.0.0.5:5@15 slave aa 0 999999000 7 connected\n" // a NAT, which the master sees another side of
)

// atMaster is a Store on a fake master, in a Cluster or not, and a client that the fake does not stand before.
func atMaster(t *testing.T, m *fakeMaster, cluster bool) (*store.Store, redis.UniversalClient) {
	t.Helper()
	server := testenv.Got(embedded.Redis()).Must(t)
	t.Cleanup(server.Close)
	rdb := testenv.Got(store.Connect(t.Context(), server.Addr())).Must(t)
	t.Cleanup(func() { _ = rdb.Close() })
	var master redis.UniversalClient
	if cluster {
		c := redis.NewClusterClient(&redis.ClusterOptions{
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				all := []redis.ClusterNode{{Addr: server.Addr()}}
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: all}}, nil
			},
			MaxRetries: -1,
		})
		c.OnNewNode(func(node *redis.Client) { node.AddHook(m) })
		master = c
	} else {
		master = redis.NewClient(&redis.Options{Addr: server.Addr()})
		master.AddHook(m)
	}
	t.Cleanup(func() { _ = master.Close() })
	s := store.New(master, store.Options{})
	testenv.Must(t, rdb.HSet(t.Context(), s.Keys("c", 0).State, "rev", 1, "claim", "1 R checked").Err())
	return s, rdb
}

// publisher is a stream in which the fake master holds the first epoch.
type publisher func(context.Context, rain.Entry) error

func (p publisher) Publish(ctx context.Context, e rain.Entry) error { return p(ctx, e) }

func (publisher) Record(context.Context, string, int) (rain.Epoch, error) {
	return rain.Epoch{Number: 1, Holder: "R"}, nil
}

func (publisher) Claim(context.Context, string, int, uint64, rain.Epoch) (rain.Epoch, error) {
	return rain.Epoch{}, errors.New("an epoch is claimed")
}

func (publisher) Newest(context.Context, string, int, uint64, func(rain.Entry) error) error {
	return errors.New("the stream is read")
}
