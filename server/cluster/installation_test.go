package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/server/cluster"
)

// place is a ledger and some Redises, in fake time.
type place struct {
	t      *testing.T
	leases map[string]lease
	failed error // of the ledger
}

type lease struct {
	holder string
	until  int64
}

func now() int64 { return time.Now().UnixMilli() }

func (p *place) Lease(_ context.Context, name, holder string, ttl time.Duration) (t ledger.Tenure, err error) {
	has := p.leases[name]
	if isBogus := has.until > now()+ttl.Milliseconds()+1000; has.holder != holder && has.until > now() && !isBogus {
		return t, p.failed
	}
	p.leases[name] = lease{holder, now() + ttl.Milliseconds()}
	return ledger.Tenure{Term: 1}, p.failed
}

func (p *place) Holder(_ context.Context, name string) (holder string, until int64, err error) {
	return p.leases[name].holder, p.leases[name].until, p.failed
}

func (p *place) ReleaseLease(_ context.Context, name, holder string) error {
	if p.leases[name].holder == holder {
		p.leases[name] = lease{holder, 0}
	}
	return nil
}

// fakeRedis is a Redis with a name and a history.
type fakeRedis struct{ name, history string }

// seer is a node that sees a Redis.
type seer struct {
	*cluster.Installation
	redis  *fakeRedis
	shut   string
	alarms []string
}

func (s *seer) Read(context.Context) (string, []string, error) {
	return s.redis.name, []string{s.redis.history}, nil
}

func (s *seer) Set(_ context.Context, name string) error {
	if s.redis.name == "" {
		s.redis.name = name
	}
	return nil
}

func (s *seer) Shut(reason string) { s.shut = reason }
func (s *seer) Open()              { s.shut = "" }

func (p *place) node(redis *fakeRedis, change func(*cluster.InstallationOptions)) *seer {
	s := &seer{redis: redis}
	o := cluster.InstallationOptions{Identity: s, Guard: s, Leases: p, Namespace: "rr", Histories: true, Clock: now,
		Alarm: func(code, _, message string, _ bool) { s.alarms = append(s.alarms, code+": "+message) },
		Log:   slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s.Installation = cluster.NewInstallation(o)
	return s
}

// looks lets nodes look once a second.
func (p *place) looks(seconds int, nodes ...*seer) {
	for range seconds {
		for _, n := range nodes {
			err := n.Look(p.t.Context())
			if p.failed == nil && errors.Is(err, store.ErrOtherRedis) != (n.shut != "") {
				p.t.Errorf("%v, and the guard is shut because of %q", err, n.shut)
			}
		}
		<-time.After(time.Second)
	}
}

func (p *place) wantShut(n *seer, because, alarm string) {
	p.t.Helper()
	if !strings.Contains(n.shut, because) || (n.shut == "") != (because == "") {
		p.t.Errorf("the guard is shut because of %q, want %q", n.shut, because)
	}
	if all := strings.Join(n.alarms, "\n"); !strings.Contains(all, alarm) || (all == "") != (alarm == "") {
		p.t.Errorf("the alarms %q, want %q", all, alarm)
	}
}

// TestANodeOnAnotherRedisDoesNotPlay: the ledger has one Redis and one namespace. A lost Redis is replaced by an empty
// one that all nodes see, and by no other.
func TestANodeOnAnotherRedisDoesNotPlay(t *testing.T) {
	for name, play := range map[string]func(p *place, a *seer){
		"another empty one": func(p *place, a *seer) {
			b := p.node(&fakeRedis{history: "B"}, nil)
			p.looks(9, a, b)
			p.wantShut(b, "it is empty", "")
			p.looks(9, a, b)
			p.wantShut(b, "it is empty", "other_redis")
			p.wantShut(a, "", "")
			testenv.Equal(p.t, b.redis.name, "", "the name of the other Redis")
		},
		"one of another installation": func(p *place, a *seer) {
			b := p.node(&fakeRedis{"theirs", "B"}, nil)
			p.looks(1, a, b)
			p.wantShut(b, "theirs", a.redis.name)
			p.looks(60, b) // also if no node sees the right one
			p.wantShut(b, "theirs", a.redis.name)
		},
		"another namespace": func(p *place, a *seer) {
			b := p.node(&fakeRedis{history: "A"}, func(o *cluster.InstallationOptions) { o.Namespace = "xx" })
			p.looks(60, b)
			p.wantShut(b, "xx", "--namespace rr")
		},
		"the same, emptied": func(p *place, a *seer) {
			was := a.redis.name
			a.redis.name = ""
			p.looks(2, a)
			p.wantShut(a, "", "")
			testenv.Equal(p.t, a.redis.name, was, "its name")
		},
		"lost, and replaced by an empty one": func(p *place, a *seer) {
			b := p.node(a.redis, nil)
			p.looks(2, a, b)
			*a.redis = fakeRedis{history: "C"}
			p.looks(3, a, b)
			p.wantShut(a, "it is empty", "")
			p.looks(8, a, b)
			p.wantShut(a, "", "")
			p.wantShut(b, "", "")
		},
		"an old copy is back": func(p *place, a *seer) {
			old := *a.redis
			*a.redis = fakeRedis{history: "C"}
			p.looks(10, a)
			*a.redis = fakeRedis{old.name, "D"}
			p.looks(2, a)
			p.wantShut(a, old.name, "other_redis")
		},
		"the database was away": func(p *place, a *seer) {
			b := p.node(&fakeRedis{history: "B"}, nil)
			p.looks(4, a, b)
			p.failed = errors.New("away")
			p.looks(30, a, b)
			p.failed = nil
			p.looks(4, b, a)
			p.wantShut(b, "it is empty", "other_redis")
			p.wantShut(a, "", "")
		},
		"leases of a time that was wrong": func(p *place, a *seer) {
			for name, of := range p.leases {
				p.leases[name] = lease{of.holder, now() + time.Hour.Milliseconds()}
			}
			testenv.Equal(p.t, a.IsSeen(p.t.Context(), "A"), false, "the master is seen")
			p.looks(1, a)
			for name, of := range p.leases {
				if of.until > now()+time.Minute.Milliseconds() {
					p.t.Errorf("the lease %s was not shortened", name)
				}
			}
			p.leases["redis"] = lease{p.leases["redis"].holder, now() + time.Hour.Milliseconds()}
			*a.redis = fakeRedis{history: "C"}
			p.looks(8, a)
			p.wantShut(a, "", "")
		},
		"the last process had another one": func(p *place, a *seer) {
			b := p.node(&fakeRedis{history: "B"}, func(o *cluster.InstallationOptions) { o.Alone = true })
			p.looks(1, b)
			p.wantShut(b, "", "")
		},
		"a master is seen": func(p *place, a *seer) {
			testenv.Equal(p.t, a.IsSeen(p.t.Context(), "A"), true, "the master is seen")
			testenv.Equal(p.t, a.IsSeen(p.t.Context(), "B"), false, "another one is seen")
			p.looks(6)
			testenv.Equal(p.t, a.IsSeen(p.t.Context(), "A"), false, "the master is seen by a node that is gone")
			p.failed = errors.New("away")
			testenv.Equal(p.t, a.IsSeen(p.t.Context(), "B"), true, "any master may be seen")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &place{t: t, leases: map[string]lease{}}
				a := p.node(&fakeRedis{history: "A"}, nil)
				p.looks(3, a)
				p.wantShut(a, "", "")
				if a.redis.name == "" {
					t.Error("the first Redis has no name")
				}
				play(p, a)
			})
		})
	}
}

// TestAnAlarmIsRepeatedWhileItLasts: every two seconds, however often a shard is found superseded. After a pause it is
// a new one.
func TestAnAlarmIsRepeatedWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var raised []string
		i := cluster.NewInstallation(cluster.InstallationOptions{
			Alarm: func(code, campaign, _ string, isNew bool) {
				raised = append(raised, fmt.Sprint(code, " ", campaign, " ", isNew))
			},
		})
		for range 30 {
			i.Superseded("c", 0)
			<-time.After(100 * time.Millisecond)
		}
		<-time.After(time.Minute)
		i.Superseded("c", 1)
		testenv.Equal(t, raised, []string{"redis_superseded c true", "redis_superseded c false",
			"redis_superseded c true"}, "alarms")
	})
}
