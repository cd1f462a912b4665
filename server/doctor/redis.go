package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/server/health"
)

func askRedis(ctx context.Context, o Options) (r report) {
	if o.Config.Redis == "" {
		r.add(health.OK, "redis", "it is in this process, and restored from the ledger and the stream at each start")
		return r
	}
	rdb, err := store.Connect(ctx, o.Config.Redis)
	if err != nil {
		r.add(health.Fail, "redis", "no connection: %v; check --redis, its user and the network", err)
		return r
	}
	defer func() { _ = rdb.Close() }()
	s := store.New(rdb, store.Options{Namespace: o.Config.Namespace})
	r.ask(ctx, health.Redis(s.Probe))
	r.findings = append(r.findings, Masters(ctx, s, o.Config.ConfirmMode())...)
	if name, _, err := store.NewIdentity(s).Read(ctx); err == nil {
		r.redis = &name
	}
	r.askEachMaster(ctx, s, o.Config.Namespace)
	return r
}

// Masters examines the settings of each master of Redis, for a mode of --confirm.
func Masters(ctx context.Context, s *store.Store, mode string) []Finding {
	var r report
	masters, err := s.Masters(ctx)
	if err != nil {
		r.add(health.Fail, "redis_version", "%v; its user needs the rights in docs/rights.redis.conf", err)
	} else {
		r.judgeMasters(masters, mode)
	}
	return r.findings
}

func (r *report) judgeMasters(masters []store.Master, mode string) {
	var kinds []string
	for _, m := range masters {
		if kind := m.Kind + " " + m.Version; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	r.judge(masters, rule{"redis_version", health.Fail, strings.Join(kinds, ", "),
		func(m store.Master) bool { return isAtLeast(m.Version, "7.0") },
		func(m store.Master) string { return m.Kind + " " + m.Version + " is too old: use Redis 7.0 or Valkey" }})
	r.judge(masters, rule{"redis_eviction", health.Fail, "maxmemory-policy is noeviction",
		func(m store.Master) bool { return m.Eviction == "noeviction" },
		func(m store.Master) string {
			return fmt.Sprintf("maxmemory-policy is %q, so Redis can evict wins; set it to noeviction", m.Eviction)
		}})
	r.judge(masters, rule{"redis_appendonly", health.Warn, "there is an append-only file",
		func(m store.Master) bool { return m.AppendOnly == "1" },
		func(store.Master) string {
			return "there is no append-only file, so a restart loses campaigns and wins; set appendonly to yes"
		}})
	level, effect := health.Warn, "so the loss of a master loses its campaigns until they are rebuilt"
	if mode == confirm.Replica.String() {
		level, effect = health.Fail, "so with --confirm replica every win is answered unavailable"
	}
	r.judge(masters, rule{"redis_replicas", level, "each master has a replica that is online",
		func(m store.Master) bool { return m.Replicas > 0 },
		func(store.Master) string { return "no replica is online, " + effect + "; start one for each master" }})
}

// rule is a condition for each master.
type rule struct {
	check  string
	level  health.Level // if it is not met
	good   string
	isMet  func(store.Master) bool
	advice func(store.Master) string // for a master that does not meet it
}

// judge names the masters that do not meet a rule.
func (r *report) judge(masters []store.Master, u rule) {
	masters = slices.DeleteFunc(slices.Clone(masters), u.isMet)
	if len(masters) == 0 {
		r.add(health.OK, u.check, "%s", u.good)
		return
	}
	var at []string
	for _, m := range masters {
		at = append(at, m.Addr)
	}
	text := u.advice(masters[0])
	if where := strings.Join(at, ", "); where != "" {
		text = "at " + where + ": " + text
	}
	r.add(u.level, u.check, "%s", text)
}

// isAtLeast compares the first two numbers of versions. A missing number counts as 0.
func isAtLeast(version, least string) bool {
	numbers := func(text string) []int {
		n := make([]int, 2)
		_, _ = fmt.Sscanf(text, "%d.%d", &n[0], &n[1])
		return n
	}
	return slices.Compare(numbers(version), numbers(least)) >= 0
}

// askEachMaster reads the clocks, and tries the rights of the user.
func (r *report) askEachMaster(ctx context.Context, s *store.Store, namespace string) {
	var mu sync.Mutex
	missing := map[string]bool{}
	var failed error
	err := s.EachMaster(ctx, func(ctx context.Context, addr string, master redis.Cmdable) {
		clock, noClock := readClock(strings.TrimSpace("Redis "+addr),
			func() (time.Time, error) { return master.Time(ctx).Result() })
		refused, err := refusedCommands(ctx, master, namespace)
		mu.Lock()
		defer mu.Unlock()
		if noClock == nil {
			r.clocks = append(r.clocks, clock)
		}
		for _, command := range refused {
			missing[command] = true
		}
		if err != nil {
			failed = err
		}
	})
	if err == nil {
		err = failed
	}
	r.addRedisRights(missing, namespace, err)
}
