package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/rain"
)

// fakeMaster makes the stand-in for Redis a master with replicas: it answers WAIT and what a master says of them.
type fakeMaster struct {
	info, nodes string // what it says to INFO replication, and to CLUSTER NODES
	acks        int64  // how many replicas acknowledge
	full        bool   // it refuses SET
	failed      error  // of everything
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
			if m.failed != nil || m.full && cmd.Name() == "set" {
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
					names[len(names)-1] = strings.Trim(fmt.Sprint(cmd.Args()), "[]")
					cmd.SetVal(m.acks)
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

// refusal is an answer of Redis itself.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

const (
	alone    = "role:master\r\nconnected_slaves:0\r\n"
	followed = "role:master\r\nconnected_slaves:1\r\nslave0:state=online\r\n"

	me   = "aa 127.0.0.1:1@11 myself,master - 0 0 7 connected 0-16383\n"
	heir = "dd 127.0.0.1:4@14 slave aa 0 999999000 7 connected\n"
)

// behind is a Store on a fake master, in a Cluster or not, and a client that the fake does not stand before.
func behind(t *testing.T, m *fakeMaster, cluster bool) (*store.Store, redis.UniversalClient) {
	t.Helper()
	server, err := embedded.Redis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	rdb, err := store.Connect(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
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
	return store.New(master, store.Options{}), rdb
}

// What a win needs before it is told, for each kind of master: the commands that are sent together.
func TestWhatAWinIsConfirmedBy(t *testing.T) {
	const wait, look, cluster = "set hmget wait 1 500", "hmget info", "hmget info time cluster"
	away := errors.New("away")
	for _, c := range []struct {
		name  string
		mode  Mode
		m     fakeMaster
		nodes bool // a Cluster
		want  error
		asked []string
	}{
		{"a replica", Replica, fakeMaster{acks: 1}, false, nil, []string{wait}},
		{"two replicas", Replica, fakeMaster{acks: 2}, false, nil, []string{wait}},
		{"none in time", Replica, fakeMaster{}, false, errNoReplica, []string{wait}},
		{"none at all", Replica, fakeMaster{info: alone}, false, errNoReplica, []string{wait}},
		{"full", Replica, fakeMaster{acks: 1, full: true}, false, nil, []string{"set", "eval hmget wait 1 500"}},
		{"full, and none in time", Replica, fakeMaster{full: true}, false, errNoReplica,
			[]string{"set", "eval hmget wait 1 500"}},
		{"away", Replica, fakeMaster{acks: 1, failed: away}, false, away, []string{"set"}},
		{"a replica in a Cluster", Replica, fakeMaster{acks: 1}, true, nil, []string{wait}},

		{"a stream, alone", Stream, fakeMaster{info: alone}, false, nil, []string{look, "hmget"}},
		{"a stream and a replica", Stream, fakeMaster{info: followed, acks: 1}, false, nil,
			[]string{look, wait, "hmget"}},
		{"a stream and none in time", Stream, fakeMaster{info: followed}, false, errNoReplica, []string{look, wait}},
		{"a stream and a replica's server", Stream, fakeMaster{info: "role:slave"}, false, errNoMaster, []string{look}},
		{"a stream, away", Stream, fakeMaster{info: alone, failed: away}, false, away, []string{"hmget"}},
		{"a stream, alone in a Cluster", Stream, fakeMaster{info: alone, nodes: me}, true, nil,
			[]string{cluster, "hmget"}},
		{"a stream, an heir not connected", Stream, fakeMaster{info: alone, nodes: me + heir, acks: 1}, true, nil,
			[]string{cluster, wait, "hmget"}},
		{"a stream, an heir that is silent", Stream, fakeMaster{info: alone, nodes: me + heir}, true, errNoReplica,
			[]string{cluster, wait}},
		{"a stream, a Cluster's replica", Stream, fakeMaster{info: "role:slave", nodes: me}, true, errNoMaster,
			[]string{cluster}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, rdb := behind(t, &c.m, c.nodes)
			keys := s.Keys("c", 0)
			if err := rdb.HSet(t.Context(), keys.Wins, "p", ";7.3=1=5=9-1").Err(); err != nil {
				t.Fatal(err)
			}
			confirmer := New(s, c.mode, publisher(func(context.Context, rain.Entry) error { return nil }), nil)
			var p Pending
			p.AddFresh("9-1", rain.Win{User: "p", Drop: "7.3", Packet: 1, Amount: 5})
			p.AddFresh("9-2", rain.Win{User: "q", Drop: "7.3", Packet: 2, Amount: 5}) // the master does not have it
			err := confirmer.Confirm(t.Context(), "c", 0, &p)
			want := c.want
			if want == nil {
				want = ErrForgotten
			}
			if !errors.Is(err, want) || p.Confirmed("9-1") != (c.want == nil) || p.Confirmed("9-2") {
				t.Errorf("%v; confirmed: %t and %t", err, p.Confirmed("9-1"), p.Confirmed("9-2"))
			}
			if !slices.Equal(c.m.asked, c.asked) {
				t.Errorf("asked %q, want %q", c.m.asked, c.asked)
			}
			if strings.Contains(strings.Join(c.asked, " "), "wait") {
				if left := rdb.PTTL(t.Context(), keys.Confirmed).Val(); left < 50*time.Second || left > time.Minute {
					t.Errorf("the marker stays for %v", left)
				}
			}
		})
	}
}

type publisher func(context.Context, rain.Entry) error

func (p publisher) Publish(ctx context.Context, e rain.Entry) error { return p(ctx, e) }

// That a master has replicas is remembered until one does not answer; that it has none, never.
func TestWhetherThereIsAReplicaIsAskedAsOftenAsNeeded(t *testing.T) {
	m := &fakeMaster{info: alone}
	s, _ := behind(t, m, false)
	r := &replicas{store: s}
	outlasts := func(info string, acks int64, want error, asked ...string) {
		t.Helper()
		m.info, m.acks, m.asked = info, acks, nil
		err := r.outlasting(t.Context(), s.Keys("c", 0), func(p redis.Pipeliner) { p.HMGet(t.Context(), "x", "y") })
		if !errors.Is(err, want) || !slices.Equal(m.asked, asked) {
			t.Errorf("%v, asked %q; want %v, %q", err, m.asked, want, asked)
		}
	}
	const wait, look = "set hmget wait 1 500", "hmget info"
	outlasts(alone, 0, nil, look)
	outlasts(alone, 0, nil, look)
	outlasts(followed, 1, nil, look, wait)
	outlasts(alone, 1, nil, wait)
	outlasts(alone, 0, errNoReplica, wait)
	outlasts(alone, 0, nil, look)
}

// A player is told of what is confirmed in two seconds, and the log says that the rest is not.
func TestAPlayersWinsAreConfirmedInTwoSeconds(t *testing.T) {
	s, rdb := behind(t, &fakeMaster{info: alone}, false)
	c := &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 3, Shards: 1}}
	if err := rdb.HSet(t.Context(), s.Keys("c", 0).Wins, "p", ";7.3=1=5=9-1;7.4=2=5=9-2").Err(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ id, wins string }{{"9-1", "1 5 7.3 p"}, {"9-2", "2 5 7.4 p"}} {
		if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Keys("c", 0).Outbox, ID: e.id,
			Values: []string{"wins", e.wins}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var published atomic.Int64
	confirmer := New(s, Stream, publisher(func(ctx context.Context, e rain.Entry) error {
		published.Add(1)
		deadline, limited := ctx.Deadline()
		if left := time.Until(deadline); !limited || left > 2*time.Second || left < time.Second {
			t.Errorf("%v are left", left)
		}
		if e.Ref.ID == "9-2" {
			return errors.New("away")
		}
		return nil
	}), nil)
	wins, err := confirmer.ConfirmedWins(t.Context(), c, "p")
	if err != nil || len(wins) != 1 || wins[0].Drop != "7.3" || published.Load() != 2 {
		t.Errorf("told of %v (%v), %d entries were published", wins, err, published.Load())
	}
	if wins, err := New(s, Redis, nil, nil).ConfirmedWins(t.Context(), c, "p"); err != nil || len(wins) != 2 {
		t.Errorf("with Redis alone: %v, %v", wins, err)
	}
}

// Entries are confirmed each for itself, and a batch publishes the wins of its entry in their order, each once.
func TestPendingEntries(t *testing.T) {
	win := func(packet int) rain.Win { return rain.Win{User: "p", Drop: "7.3", Packet: packet, Amount: 5} }
	var p Pending
	if p.Confirmed("9-1") {
		t.Error("nothing is pending, and confirmed")
	}
	for _, packet := range []int{3, 1, 3, 2, 1} {
		p.AddFresh("9-1", win(packet))
	}
	p.AddOlder("8-1", win(7))
	p.AddOlder("8-1", win(8))
	if len(p.entries) != 2 || p.entries[0].witness != win(3) || p.entries[1].witness != win(7) ||
		!slices.Equal(p.entries[0].wins, []rain.Win{win(3), win(1), win(2)}) || p.entries[1].wins != nil {
		t.Errorf("%+v, %+v", p.entries[0], p.entries[1])
	}
	p.entries[1].confirmed = true
	if p.Confirmed("9-1") || !p.Confirmed("8-1") || p.Confirmed("7-1") {
		t.Error("the wrong one is confirmed")
	}
}

// Warnings names each master without a replica that is online, and only where wins need one.
func TestAMissingReplicaIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		m       fakeMaster
		mode    Mode
		cluster bool
		want    string
	}{
		{"online", fakeMaster{info: followed}, Replica, false, ""},
		{"alone", fakeMaster{info: alone}, Replica, false, "Redis has no replica that is online: with"},
		{"copying", fakeMaster{info: "role:master slave0:state=wait_bgsave"}, Replica, false, "Redis has no replica"},
		{"in a Cluster", fakeMaster{info: alone}, Replica, true, ": with the confirmation"},
		{"silent", fakeMaster{failed: errors.New("away")}, Replica, false,
			"Redis does not tell whether it has a replica (away): with"},
		{"with a stream", fakeMaster{info: alone}, Stream, false, ""},
		{"without", fakeMaster{info: alone}, Redis, false, ""},
	} {
		s, _ := behind(t, &c.m, c.cluster)
		publish := publisher(func(context.Context, rain.Entry) error { return nil })
		got := strings.Join(New(s, c.mode, publish, nil).Warnings(t.Context()), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			c.cluster != strings.Contains(got, "Redis at ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
