package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/docs"
	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server"
	"redrain/server/config"
)

// evening plays a rain from its start to its end: players tap and win, Redis loses the campaign and it is rebuilt, the
// campaign is closed, a player withdraws, and the books agree. lose may be nil.
func evening(t *testing.T, nodes []*node, lose func()) {
	t.Helper()
	g := newGame(t, nodes, gameRules{shards: 2, packets: 2_000, change: func(s *rain.Spec) {
		s.Capacity, s.AdmitPerSecond, s.TapsPerUser = 1_000, 1_000, 100_000
	}})
	g.join(nodes)
	g.goesOn(50)
	if lose != nil {
		lose()
		g.rebuilt()
		g.goesOn(50)
	}
	g.end()
	user := g.users()[0]
	has := balanceOf(t, nodes[0], user)
	w := testenv.Got(asPlayer(t, nodes[0], user).Withdraw(within(t, 20*time.Second), has, "k")).Must(t)
	testenv.Equal(t, w.Amount, has, "withdrawn")
	awaitWithdrawal(t, nodes[0], user, inState(client.WithdrawalPaid))
	testenv.Equal(t, balanceOf(t, nodes[0], user), 0, "what %s has after the withdrawal", user)
}

// TestTheRightsAreExact plays an evening on servers whose users have the rights of docs/rights.* and no more: alone on
// files as they are, and in a Cluster. Redis notes each refusal. On the single Redis it also notes each command that
// was used: the files have no other.
func TestTheRightsAreExact(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	t.Run("single", func(t *testing.T) {
		testenv.ParallelFailover(t, testenv.Medium)
		file := filepath.Join(t.TempDir(), "rights.redis.conf")
		testenv.Must(t, os.WriteFile(file, []byte(docs.RightsRedis), 0o600))
		master := testenv.StartRedis(t, "--include", file)
		replica := testenv.StartReplica(t, master)
		restrict(t, config.Default().Namespace, replica.Addr)
		nodes := restricted(t, config.Default().Namespace, master.Addr)
		evening(t, nodes, func() { flush(t, master) })
		rdb := grabtest.Connect(t, asRedrain(master.Addr))
		logins := store.NewLogins(store.New(rdb, store.Options{}))
		testenv.Must(t, logins.Keep(t.Context(), "code", []byte("value"), time.Minute))
		testenv.Got(logins.Take(t.Context(), "code")).Want(t, []byte("value"), "a login")
		testenv.Equal(t, refusedBy(t, master.Addr, replica.Addr), nil, "refused")
		// The first four are for a Cluster. A server that was restarted gets the scripts by EVAL. HSETNX renews slots.
		wantAllUsed(t, []string{master.Addr, replica.Addr}, "cluster|slots", "cluster|nodes", "command", "config|get",
			"eval", "hsetnx")
	})
	t.Run("cluster", func(t *testing.T) {
		testenv.ParallelFailover(t, testenv.Medium)
		namespace, addrs := testenv.Namespace(t), testenv.RedisCluster(t)
		restrict(t, namespace, addrs...)
		evening(t, restricted(t, namespace, addrs...), nil)
		testenv.Equal(t, refusedBy(t, addrs...), nil, "refused")
	})
}

// restricted are two nodes whose users have no more than their rights.
func restricted(t *testing.T, namespace string, redis ...string) []*node {
	t.Helper()
	// The files are for the namespace rr.
	of := strings.NewReplacer(`"rr.`, `"`+namespace+".", ".RR_", "."+strings.ToUpper(namespace)+"_", "KV_rr_",
		"KV_"+namespace+"_", "$KV.rr_", "$KV."+namespace+"_")
	nats := testenv.StartNATSWith(t, of.Replace(docs.RightsNATS))
	t.Cleanup(func() {
		for line := range strings.Lines(nats.Log()) {
			if strings.Contains(line, " Violation ") {
				t.Errorf("refused by NATS: %s", line)
			}
		}
	})
	dsn := testenv.MySQL(t)
	testenv.Must(t, testenv.Err(server.Migrate(t.Context(), server.MigrateOptions{MySQL: paytest.GrantMigration(t, dsn),
		Wait: time.Minute, Log: slog.New(slog.DiscardHandler)})))
	s := setting{redis: asRedrain(redis...), nats: strings.Replace(nats.URL, "//", "//redrain:change-me@", 1),
		mysql: paytest.GrantRights(t, dsn), namespace: namespace}
	return startNodes(t, streamConfig(s), 2)
}

// asRedrain is the --redis of the user redrain.
func asRedrain(addrs ...string) string {
	url := "redis://redrain:change-me@" + addrs[0]
	if len(addrs) > 1 {
		url += "?addr=" + strings.Join(addrs[1:], "&addr=")
	}
	return url
}

// serverAt is a client of one server, also of a Cluster's, with all rights.
func serverAt(t *testing.T, addr string) *rds.Client {
	t.Helper()
	rdb := rds.NewClient(&rds.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// rightsOfRedis are the words of docs/rights.redis.conf after the user's name.
func rightsOfRedis() []string {
	_, rights, _ := strings.Cut(docs.RightsRedis, "\nuser redrain ")
	return strings.Fields(rights)
}

// restrict makes the user redrain on servers, for another namespace.
func restrict(t *testing.T, namespace string, addrs ...string) {
	t.Helper()
	for _, addr := range addrs {
		args := []any{"ACL", "SETUSER", "redrain"}
		for _, word := range rightsOfRedis() {
			args = append(args, strings.Replace(word, "~rr:", "~"+namespace+":", 1))
		}
		rdb := serverAt(t, addr)
		testenv.Must(t, rdb.Do(t.Context(), args...).Err())
		t.Cleanup(func() { testenv.Must(t, rdb.Do(context.Background(), "ACL", "DELUSER", "redrain").Err()) })
	}
}

// refusedBy are the refusals that servers have noted.
func refusedBy(t *testing.T, addrs ...string) (all []string) {
	t.Helper()
	for _, addr := range addrs {
		entries := testenv.Got(serverAt(t, addr).ACLLog(t.Context(), 100).Result()).Must(t)
		for _, e := range entries {
			all = append(all, fmt.Sprintf("%s: %s %s, %s", e.Username, e.Reason, e.Object, e.Context))
		}
	}
	return all
}

// wantAllUsed wants that each permitted command was used, except some.
func wantAllUsed(t *testing.T, addrs []string, except ...string) {
	t.Helper()
	used := map[string]bool{}
	for _, addr := range addrs {
		stats := testenv.Got(serverAt(t, addr).Info(t.Context(), "commandstats").Result()).Must(t)
		for line := range strings.Lines(stats) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
			used[name] = true
		}
	}
	unused := map[string]bool{}
	for _, word := range rightsOfRedis() {
		if command, is := strings.CutPrefix(word, "+"); is && !used[command] && !slices.Contains(except, command) {
			unused[command] = true
		}
	}
	testenv.Equal(t, slices.Sorted(maps.Keys(unused)), nil, "unused rights")
}
