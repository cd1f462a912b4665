package confirm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// hasWon writes a win of packet 1, entry 9-1, as grab.lua does.
func hasWon(t *testing.T, rdb redis.UniversalClient, k store.Keys, user string) {
	t.Helper()
	testenv.Must(t, rdb.HSet(t.Context(), k.Wins, user, "1 7.3", user+"\n7.3", "1 9-1 ").Err())
}

// fresh is an entry that a batch has just written: a win, and one more of another player.
func fresh(id, user string, packet int) *rain.Entry {
	return &rain.Entry{Ref: rain.EntryRef{Campaign: "c", ID: id}, SealedAt: 8, Wins: []rain.Win{
		{User: user, Drop: "7.3", Packet: packet, Seal: "a seal"}, {User: "other", Drop: "7.3", Packet: packet + 10},
	}}
}

// winLook is the first step: is the win on record, and who is the master?
const winLook = "hmget info"

// Each kind of master needs other commands before a player is notified of a win. The commands of one element are sent
// together.
func TestWhatAWinIsConfirmedBy(t *testing.T) {
	const look, cluster = winLook, "hmget info time cluster"
	const wait, wait2 = "set hmget role wait 1 role", "set hmget role wait 2 role"
	// With epochs the claim is read, and the history of the master.
	const held, heldCluster, heldWait = "hmget " + look, "hmget " + cluster, "set hmget " + look + " role wait 1 role"
	away := errors.New("away")
	for _, c := range []struct {
		name  string
		mode  Mode
		m     fakeMaster
		nodes bool // a Cluster
		want  error
		asked []string
	}{
		{"Redis", Redis, fakeMaster{}, false, nil, nil},
		{"a replica", Replica, fakeMaster{info: followed, acks: 1}, false, nil, []string{look, wait}},
		{"two replicas", Replica, fakeMaster{info: twice, acks: 2}, false, nil, []string{look, wait2}},
		{"one of two", Replica, fakeMaster{info: twice, acks: 1}, false, errNoReplica, []string{look, wait2}},
		{"none in time", Replica, fakeMaster{info: followed}, false, errNoReplica, []string{look, wait}},
		{"none at all", Replica, fakeMaster{info: alone}, false, errNoCandidate, []string{look}},
		{"none in a Cluster but a barred one", Replica,
			fakeMaster{info: "role:master\r\nconnected_slaves:1\r\n" + fifth, nodes: me + barred}, true, errNoCandidate,
			[]string{cluster}},
		{"one that has come meanwhile, and lags", Replica, fakeMaster{info: followed, online: twice, acks: 1}, false,
			errNoReplica, []string{look, wait, wait2}},
		{"another one in its place", Replica,
			fakeMaster{info: followed, online: "role:master\r\nconnected_slaves:1\r\n" + fifth, acks: 1}, false,
			errNoReplica, []string{look, wait}},
		{"one without an address", Replica, fakeMaster{info: "role:master\r\nconnected_slaves:2\r\n" + fourth, acks: 1},
			false, errNoReplica, []string{look, wait2}},
		{"full", Replica, fakeMaster{info: followed, acks: 1, full: true}, false, nil,
			[]string{look, "set", "eval hmget role wait 1 role"}},
		{"full, and none in time", Replica, fakeMaster{info: followed, full: true}, false, errNoReplica,
			[]string{look, "set", "eval hmget role wait 1 role"}},
		{"away", Replica, fakeMaster{info: followed, acks: 1, failed: away}, false, away, []string{"hmget"}},
		{"a replica's server", Replica, fakeMaster{info: "role:slave"}, false, errNoMaster, []string{look}},
		{"a replica's server by now", Replica, fakeMaster{info: followed, online: "role:slave", acks: 1}, false,
			errNoMaster, []string{look, wait}},

		{"a replica in a Cluster", Replica, fakeMaster{info: followed, nodes: me + heir, acks: 1}, true, nil,
			[]string{cluster, wait}},
		{"two in a Cluster", Replica, fakeMaster{info: twice, nodes: me + heir + second, acks: 2}, true, nil,
			[]string{cluster, wait2}},
		{"one of two in a Cluster", Replica, fakeMaster{info: twice, nodes: me + heir + second, acks: 1}, true,
			errNoReplica, []string{cluster, wait2}},
		{"one of two is cut off", Replica, fakeMaster{info: followed, nodes: me + heir + second, acks: 1}, true,
			errNoReplica, []string{cluster, wait2}},
		{"a stranger in its place", Replica,
			fakeMaster{info: followed, online: twice, nodes: me + heir + behind, acks: 2}, true, errNoReplica,
			[]string{cluster, wait2}},
		{"a barred one lags", Replica, fakeMaster{info: twice, nodes: me + heir + barred, acks: 1}, true, nil,
			[]string{cluster, wait}},
		{"a barred one is counted", Replica, fakeMaster{
			info:   "role:master\r\nconnected_slaves:2\r\n" + fifth + fourth,
			nodes:  me + heir + barred,
			online: "role:master\r\nconnected_slaves:2\r\n" + fifth + fourth, acks: 1}, true,
			errNoReplica, []string{cluster, wait, wait2}},
		{"other addresses in the Cluster", Replica, fakeMaster{info: followed, nodes: me + behind, acks: 1}, true, nil,
			[]string{cluster, wait}},
		{"other addresses, one cut off", Replica,
			fakeMaster{info: followed, nodes: me + behind + behind, acks: 1}, true, errNoReplica,
			[]string{cluster, wait2}},
		{"WAIT says more than ROLE", Replica, fakeMaster{info: followed, nodes: me + heir, counted: 2}, true,
			errNoReplica, append([]string{cluster}, slices.Repeat([]string{wait}, waitsAtMost)...)},

		{"a stream, alone", Stream, fakeMaster{info: alone}, false, nil, []string{held, "hmget"}},
		{"a stream and a replica", Stream, fakeMaster{info: followed, acks: 1}, false, nil,
			[]string{held, heldWait, "hmget"}},
		{"a stream and none in time", Stream, fakeMaster{info: followed}, false, errNoReplica,
			[]string{held, heldWait}},
		{"a stream and a replica's server", Stream, fakeMaster{info: "role:slave"}, false, errNoMaster, []string{held}},
		{"a stream, away", Stream, fakeMaster{info: alone, failed: away}, false, away, []string{"hmget"}},
		{"a stream and a replica in a Cluster", Stream, fakeMaster{info: followed, nodes: me, acks: 1}, true, nil,
			[]string{heldCluster, heldWait, "hmget"}},
		{"a stream, alone in a Cluster", Stream, fakeMaster{info: alone, nodes: me}, true, nil,
			[]string{heldCluster, "hmget"}},
		{"a stream, an heir that was not connected", Stream,
			fakeMaster{info: alone, online: followed, nodes: me + heir, acks: 1}, true, nil,
			[]string{heldCluster, heldWait, "hmget"}},
		{"a stream, an heir that is silent", Stream, fakeMaster{info: alone, nodes: me + heir}, true, errNoReplica,
			[]string{heldCluster, heldWait}},
		{"a stream, a Cluster's replica", Stream, fakeMaster{info: "role:slave", nodes: me}, true, errNoMaster,
			[]string{heldCluster}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, rdb := atMaster(t, &c.m, c.nodes)
			keys := s.Keys("c", 0)
			hasWon(t, rdb, keys, "p")
			var published []rain.Entry
			confirmer := New(s, c.mode, publisher(func(_ context.Context, e rain.Entry) error {
				published = append(published, e)
				return nil
			}), nil)
			var p Pending
			for _, e := range []*rain.Entry{fresh("9-1", "p", 1), fresh("9-2", "q", 2)} { // it does not have the second
				p.Add(e.Ref.ID, e.Wins[0], e)
			}
			err := confirmer.Confirm(t.Context(), "c", 0, &p)
			want := c.want
			if want == nil && c.mode != Redis {
				want = ErrForgotten
			}
			first, second := p.Confirmed("9-1"), p.Confirmed("9-2")
			if !errors.Is(err, want) || first != (c.want == nil) || second != (c.mode == Redis) {
				t.Errorf("%v; confirmed: %t and %t", err, first, second)
			}
			var should []rain.Entry
			if c.mode == Stream && c.want == nil {
				should = []rain.Entry{*fresh("9-1", "p", 1)} // as it was written, whole
				should[0].Epoch = 1
			}
			testenv.Equal(t, published, should, "published")
			testenv.Equal(t, c.m.asked, c.asked, "asked")
			if strings.Contains(strings.Join(c.asked, " "), "wait") {
				if left := rdb.PTTL(t.Context(), keys.Confirmed).Val(); left < 50*time.Second || left > time.Minute {
					t.Errorf("the marker stays for %v", left)
				}
			}
			var found Pending
			found.Add("9-1", rain.Win{User: "p", Drop: "7.3", Packet: 1, Amount: 5}, nil)
			testenv.WantErr(t, confirmer.Confirm(t.Context(), "c", 0, &found), c.want, "all that the master has")
		})
	}
}

// A master's candidates are cached for a while, until one does not answer. The absence of candidates is never cached.
func TestTheHeirsAreAskedForAsOftenAsNeeded(t *testing.T) {
	for look, cluster := range map[string]bool{"hmget info": false, "hmget info time cluster": true} {
		m := &fakeMaster{nodes: me}
		s, _ := atMaster(t, m, cluster)
		r := newReplicas(s, false)
		outlasts := func(info, online string, acks int64, want error, asked ...string) {
			t.Helper()
			m.info, m.online, m.acks, m.asked = info, online, acks, nil
			_, err := r.readReplicated(t.Context(), s.Keys("c", 0),
				func(p redis.Pipeliner) { p.HMGet(t.Context(), "x", "y") })
			if !errors.Is(err, want) || !slices.Equal(m.asked, asked) {
				t.Errorf("%v, asked %q; want %v, %q", err, m.asked, want, asked)
			}
		}
		const wait, wait2 = "set hmget info role wait 1 role", "set hmget info role wait 2 role"
		outlasts(alone, "", 0, nil, look)
		outlasts(followed, "", 1, nil, look, wait)
		outlasts(alone, followed, 1, nil, wait)
		outlasts(alone, followed, 0, errNoReplica, wait)
		outlasts(alone, "", 0, nil, look)
		outlasts(followed, "", 1, nil, look, wait)
		outlasts(twice, "", 2, nil, wait)
		for _, h := range r.known {
			h.until = time.Now()
		}
		outlasts(twice, "", 2, nil, look, wait2)
		outlasts(followed, "", 1, errNoReplica, wait2) // one of two has gone
		outlasts(followed, "", 1, nil, look, wait)
		outlasts(followed, "role:slave", 1, errNoMaster, wait)
		if !cluster { // a Cluster would look for another master
			outlasts("role:slave", "", 0, errNoMaster, look)
			outlasts(alone, "", 0, nil, look)
		}
	}
}

// A player receives the wins that are confirmed within two seconds. The log reports the others.
func TestAPlayersWinsAreConfirmedInTwoSeconds(t *testing.T) {
	s, rdb := atMaster(t, &fakeMaster{info: alone}, false)
	c := threePackets()
	testenv.Must(t, rdb.HSet(t.Context(), s.Keys("c", 0).Wins, "p", "2 7.4", "p\n7.3", "1 9-1 ", "p\n7.4", "2 9-2 7.3").
		Err())
	for _, e := range []struct{ id, packets, wins string }{{"9-1", "1-1", "seal 7.3 p"}, {"9-2", "2-2", "seal 7.4 p"}} {
		testenv.Must(t, rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Keys("c", 0).Outbox, ID: e.id,
			Values: []string{"at", "8", "packets", e.packets, "wins", e.wins}}).Err())
	}
	var published atomic.Int64
	var log strings.Builder
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
	}), slog.New(slog.NewTextHandler(&log, nil)))
	wins, err := confirmer.PlayersWins(t.Context(), c, "p")
	if err != nil || len(wins.Confirmed) != 1 || wins.Confirmed[0].Drop != "7.3" || len(wins.Unconfirmed) != 1 ||
		wins.Unconfirmed[0].Drop != "7.4" || wins.Total != 2 || published.Load() != 2 {
		t.Errorf("confirmed %+v (%v), %d entries were published", wins, err, published.Load())
	}
	if text := log.String(); !strings.Contains(text, "campaign=c") || !strings.Contains(text, "away") {
		t.Errorf("the log has %q", text)
	}
	log.Reset()
	good := publisher(func(context.Context, rain.Entry) error { return nil })
	for _, mode := range []Mode{Redis, Stream} {
		all := New(s, mode, good, slog.New(slog.NewTextHandler(&log, nil)))
		if wins, err := all.PlayersWins(t.Context(), c, "p"); err != nil || len(wins.Confirmed) != 2 ||
			wins.Unconfirmed != nil || wins.Confirmed[0].Amount != 5 || log.Len() > 0 {
			t.Errorf("%v: %v, %v; the log has %q", mode, wins, err, log.String())
		}
	}
}

// threePackets is a campaign of three packets of 5.
func threePackets() *rain.Campaign {
	return &rain.Campaign{ID: "c", Spec: rain.Spec{Budget: 15, Packets: 3, Min: 1, Split: rain.Even, Shards: 1}}
}
