package doctor

import (
	"context"
	"crypto/x509"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"

	"redrain/docs"
	"redrain/grab/store"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/config"
	"redrain/server/health"
)

// world is a set of back ends, addresses and files that has no finding. A case of a test makes one thing wrong.
type world struct {
	cfg   config.Config
	roots *x509.CertPool
	redis *testenv.Server
	mysql *testenv.Server
}

// redisName is the name of the world's Redis in its ledger.
const redisName = "N"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{redis: testenv.StartRedis(t), roots: x509.NewCertPool(), cfg: config.Default(),
		mysql: testenv.StartMySQL(t, "--log-bin=log", "--binlog-format=ROW")}
	testenv.StartReplica(t, w.redis)
	w.cfg.Redis, w.cfg.MySQL, w.cfg.NATS = w.redis.Addr, w.mysql.DSN, testenv.StartNATS(t).URL
	makeStream(t, w.cfg.NATS)
	w.nameRedis(t, w.redis.Addr, redisName)
	w.hold(t, redisName+" "+w.cfg.Namespace)
	site := startSite(t, w.roots, "", time.Now().AddDate(1, 0, 0))
	w.cfg.JWKSURL, w.cfg.OIDCIssuer, w.cfg.ProviderURL, w.cfg.RiskURL = site+"/jwks", site, site+"/pay", site+"/risk"
	w.cfg.TLSCert, w.cfg.TLSKey, _ = writeCertificate(t, time.Now().AddDate(1, 0, 0))
	w.cfg.MaxConnections = 1
	return w
}

// nameRedis gives a Redis its name in the installation; "" removes it.
func (w *world) nameRedis(t *testing.T, addr, name string) {
	t.Helper()
	key := w.cfg.Namespace + ":{installation}:name"
	if name == "" {
		do(t, addr, "DEL", key)
	} else {
		do(t, addr, "SET", key, name)
	}
}

// hold migrates the database, and makes its lease for Redis that of a holder.
func (w *world) hold(t *testing.T, holder string) {
	t.Helper()
	db := testenv.Got(sqldb.OpenMySQL(w.mysql.DSN)).Must(t)
	defer func() { _ = db.Close() }()
	testenv.Must(t, db.Migrate(t.Context()))
	leases := ledger.New(db, func() int64 { return time.Now().UnixMilli() }, rain.NewAmountsCache()).Leases
	testenv.Must(t, testenv.Err(leases.Lease(t.Context(), cluster.RedisLease, holder, time.Hour)))
}

// examine examines the world with other settings.
func (w *world) examine(t *testing.T, cfg config.Config) []Finding {
	t.Helper()
	return Examine(t.Context(), Options{Config: cfg, Nodes: 2, Roots: w.roots,
		NATS: func() ([]nats.Option, error) { return nil, nil }})
}

// wants demands exactly some findings that are not ok, each as "level check: part of the text".
func wants(t *testing.T, what string, got []Finding, want ...string) {
	t.Helper()
	bad := slices.DeleteFunc(slices.Clone(got), func(f Finding) bool { return f.Level == health.OK })
	ok := len(bad) == len(want)
	for i := 0; ok && i < len(want); i++ {
		head, text, _ := strings.Cut(want[i], ": ")
		ok = fmt.Sprintf("%s %s", bad[i].Level, bad[i].Check) == head && strings.Contains(bad[i].Text, text)
	}
	if !ok {
		t.Errorf("%s: %+v, want %q", what, bad, want)
	}
	for _, f := range got {
		if f.Link == "" || f.Text == "" {
			t.Errorf("%s: %+v lacks a part", what, f)
		}
	}
}

// do runs a command on a Redis as the default user.
func do(t *testing.T, addr string, args ...any) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = rdb.Close() }()
	testenv.Must(t, rdb.Do(context.WithoutCancel(t.Context()), args...).Err())
}

// setUser makes the user of docs/rights.redis.conf, with more rules, and returns its --redis.
func setUser(t *testing.T, addr string, more ...any) string {
	t.Helper()
	_, rights, _ := strings.Cut(docs.RightsRedis, "\nuser redrain ")
	args := []any{"ACL", "SETUSER", "redrain", "reset"}
	for word := range strings.FieldsSeq(rights) {
		args = append(args, word)
	}
	do(t, addr, append(args, more...)...)
	return "redis://redrain:change-me@" + addr
}

// TestEachFaultOfRedis has one row for each finding, with just that wrong.
func TestEachFaultOfRedis(t *testing.T) {
	w := newWorld(t)
	addr := w.redis.Addr
	set := func(name, bad, good string) func(t *testing.T, cfg *config.Config) {
		return func(t *testing.T, _ *config.Config) {
			t.Helper()
			do(t, addr, "CONFIG", "SET", name, bad)
			t.Cleanup(func() { do(t, addr, "CONFIG", "SET", name, good) })
		}
	}
	user := func(more ...any) func(t *testing.T, cfg *config.Config) {
		return func(t *testing.T, cfg *config.Config) { t.Helper(); cfg.Redis = setUser(t, addr, more...) }
	}
	named := func(name string) func(t *testing.T, cfg *config.Config) {
		return func(t *testing.T, _ *config.Config) {
			t.Helper()
			w.nameRedis(t, addr, name)
			t.Cleanup(func() { w.nameRedis(t, addr, redisName) })
		}
	}
	alone := testenv.StartRedis(t)
	w.nameRedis(t, alone.Addr, redisName)
	on := func(addr, confirm string) func(t *testing.T, cfg *config.Config) {
		return func(_ *testing.T, cfg *config.Config) { cfg.Redis, cfg.Confirm = addr, confirm }
	}
	valkey := testenv.StartValkey(t)
	w.nameRedis(t, valkey.Addr, redisName)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, cfg *config.Config)
		want  []string
	}{
		{"nothing", func(*testing.T, *config.Config) {}, nil},
		{"exact rights", user(), nil},
		{"evicts", set("maxmemory-policy", "allkeys-lru", "noeviction"),
			[]string{`fail redis_eviction: "allkeys-lru"`}},
		{"forgets", set("appendonly", "no", "yes"), []string{"warn redis_appendonly: set appendonly to yes"}},
		{"full", set("maxmemory", "1", "0"), []string{"fail redis: OOM"}},
		{"alone", on(alone.Addr, ""), []string{"warn redis_replicas: until they are rebuilt"}},
		{"alone, and must wait", on(alone.Addr, "replica"), []string{"fail redis_replicas: unavailable"}},
		{"Valkey, alone", on(valkey.Addr, ""), []string{"warn redis_replicas: start one"}},
		{"a command is missing", user("-hdel", "-xinfo|stream"),
			[]string{"fail redis_rights: may not run hdel, xinfo|stream on"}},
		{"other keys", user("resetkeys", "~other:*"),
			[]string{"fail redis: NOPERM", "fail redis_rights: on keys rr:*"}},
		{"settings are hidden", user("-config|get"), []string{"warn redis_rights: may not run config|get"}},
		{"no transactions", user("-multi"), []string{"fail redis_rights: multi"}},
		{"no COMMAND", user("-command"), []string{"fail redis_rights: may not run command"}},
		{"another", named("M"), []string{"fail redis_installation: the name M"}},
		{"empty", named(""), []string{"warn redis_installation: is empty"}},
		{"away", on("127.0.0.1:1", ""), []string{"fail redis: connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := w.cfg
			c.spoil(t, &cfg)
			wants(t, c.name, w.examine(t, cfg), c.want...)
		})
	}
}

// TestBeforeTheFirstStart: on new back ends two findings name the remedy, and nothing is left there.
func TestBeforeTheFirstStart(t *testing.T) {
	w := &world{}
	cfg := config.Default()
	cfg.MaxConnections = 1
	server := testenv.StartRedis(t)
	testenv.StartReplica(t, server)
	cfg.Redis, cfg.NATS, cfg.MySQL = server.Addr, testenv.StartNATS(t).URL, testenv.MySQL(t)
	for range 2 {
		wants(t, "new back ends", w.examine(t, cfg), "warn nats_stream: the first node creates it",
			"warn mysql_schema: run redrain migrate")
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	testenv.Got(rdb.Keys(t.Context(), "*").Result()).Len(t, 0, "keys")
	testenv.Equal(t, streams(t, cfg.NATS), nil, "streams")
	db := testenv.Got(sql.Open("mysql", cfg.MySQL)).Must(t)
	t.Cleanup(func() { _ = db.Close() })
	var tables int
	testenv.Must(t, db.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables))
	testenv.Equal(t, tables, 0, "tables")
}

// TestACluster: each master is examined, and the one at fault is named.
func TestACluster(t *testing.T) {
	nodes := testenv.RedisCluster(t)
	cfg := config.Default()
	cfg.Redis, cfg.DataDir, cfg.MaxConnections, cfg.Namespace = nodes[0], t.TempDir(), 1, testenv.Namespace(t)
	w := &world{}
	wants(t, "a sound Cluster", w.examine(t, cfg))
	do(t, nodes[1], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	t.Cleanup(func() { do(t, nodes[1], "CONFIG", "SET", "maxmemory-policy", "noeviction") })
	wants(t, "one master", w.examine(t, cfg), "fail redis_eviction: at "+nodes[1]+": ")
}

// TestAWrongClock is named with its difference.
func TestAWrongClock(t *testing.T) {
	server, set := testenv.StartRedisAhead(t)
	testenv.StartReplica(t, server)
	set(3 * time.Hour)
	cfg := config.Default()
	cfg.Redis, cfg.DataDir, cfg.MaxConnections = server.Addr, t.TempDir(), 1
	wants(t, "a clock ahead", (&world{}).examine(t, cfg), "warn clocks: Redis differs from this machine by 3h0m0s")
}

// TestAllAwayAtOnce: every back end that is away is named, and each frozen one too.
func TestAllAwayAtOnce(t *testing.T) {
	cfg := config.Default()
	cfg.MaxConnections = 1
	database := testenv.StartMySQL(t)
	database.Freeze()
	cfg.Redis, cfg.NATS, cfg.MySQL = "127.0.0.1:1", "nats://127.0.0.1:1", database.DSN
	wants(t, "all", (&world{}).examine(t, cfg), "fail redis: refused", "fail nats: no connection", "fail mysql: check")
	database.Thaw()
}

// TestKinds: servers are named for what they are, and old versions are refused.
func TestKinds(t *testing.T) {
	for want, m := range map[string]store.Master{
		"ok Redis 7.0.15": {Kind: "Redis", Version: "7.0.15"}, "ok Valkey 8.0.1": {Kind: "Valkey", Version: "8.0.1"},
		"fail Redis 6.2.14 is too old: use Redis 7.0 or Valkey": {Kind: "Redis", Version: "6.2.14"},
		"fail Redis  is too old: use Redis 7.0 or Valkey":       {Kind: "Redis"},
	} {
		var r report
		r.judgeMasters([]store.Master{m}, "redis")
		testenv.Equal(t, string(r.findings[0].Level)+" "+r.findings[0].Text, want, "a master")
	}
	for want, v := range map[string]map[string]string{
		"ok MariaDB 10.11.6":                  {"version": "10.11.6-MariaDB-0+deb12u1-log", "wsrep_on": "OFF"},
		"ok MariaDB with Galera 11.4.2":       {"version": "11.4.2-MariaDB", "wsrep_on": "ON"},
		"ok MySQL 8.4.0":                      {"version": "8.4.0", "version_comment": "MySQL Community Server - GPL"},
		"ok Percona Server 8.0.36-28":         {"version": "8.0.36-28", "version_comment": "Percona Server (GPL)"},
		"fail MySQL 5.7.44 is too old: use ":  {"version": "5.7.44-log"},
		"fail MariaDB 10.6.1 is too old: use": {"version": "10.6.1-MariaDB"},
	} {
		var r report
		r.judgeVariables(v, 1)
		got := string(r.findings[0].Level) + " " + r.findings[0].Text
		if !strings.HasPrefix(want, got) && !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLinks: each finding's link leads to a section that exists.
func TestLinks(t *testing.T) {
	notInSlug := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for check, link := range links {
		page, want, _ := strings.Cut(link, "#")
		text := testenv.Got(os.ReadFile("../../" + page)).Must(t)
		sections := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && line[0] == '#' {
				slug := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
				sections[strings.ReplaceAll(slug, " ", "-")] = true
			}
		}
		if !sections[want] {
			t.Errorf("%s: no section %s in %s: %v", check, want, page, slices.Sorted(maps.Keys(sections)))
		}
	}
}
