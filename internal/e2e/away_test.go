package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/testenv"
	"redrain/rain"
)

// fickle is a back end that goes on answering and does no work, until it is mended.
type fickle struct {
	name     string // as /readyz names it
	status   int    // of /readyz meanwhile
	wins     bool   // whether players win meanwhile
	setting  setting
	spoil    func()
	mend     func()
	isUnread bool // the outboxes cannot be read
}

// readOnlyMySQL is a database that becomes read-only, as after a switchover.
func readOnlyMySQL(t *testing.T) fickle {
	t.Helper()
	s := testenv.StartMySQL(t)
	db := testenv.Got(sql.Open("mysql", s.DSN)).Must(t)
	t.Cleanup(func() { _ = db.Close() })
	exec := func(statements ...string) {
		for _, statement := range statements {
			testenv.Must(t, testenv.Err(db.ExecContext(t.Context(), statement)))
		}
	}
	exec("CREATE USER app@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON redrain.* TO app@'%'") // root may always write
	of := realSetting(t)
	of.mysql = strings.Replace(s.DSN, "root@", "app:pw@", 1)
	return fickle{name: "mysql", status: 200, wins: true, setting: of,
		spoil: func() { exec("SET GLOBAL read_only = 1") }, mend: func() { exec("SET GLOBAL read_only = 0") }}
}

// forbiddenNATS is a server whose user loses the rights to JetStream, and keeps the others.
func forbiddenNATS(t *testing.T) fickle {
	t.Helper()
	options := &natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true,
		NoSigs: true, Users: []*natsserver.User{{Username: "app", Password: "pw"}}}
	s := testenv.Got(natsserver.NewServer(options)).Must(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("no NATS server")
	}
	allow := func(p *natsserver.Permissions) {
		changed := options.Clone()
		changed.Users = []*natsserver.User{{Username: "app", Password: "pw", Permissions: p}}
		testenv.Must(t, s.ReloadOptions(changed))
	}
	of := realSetting(t)
	of.nats = strings.Replace(s.ClientURL(), "nats://", "nats://app:pw@", 1)
	return fickle{name: "nats", status: 200, wins: true, setting: of, mend: func() { allow(nil) },
		spoil: func() {
			deny := natsserver.SubjectPermission{Deny: []string{"$JS.API.>", "*.payout.>"}}
			allow(&natsserver.Permissions{Publish: &deny})
		}}
}

// forbiddenRedis is a Redis whose user gets the keys of another installation.
func forbiddenRedis(t *testing.T) fickle {
	t.Helper()
	s := testenv.StartRedis(t)
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	user := func(rules ...string) {
		testenv.Must(t, rdb.ACLSetUser(t.Context(), "default", rules...).Err())
	}
	of := realSetting(t)
	of.redis = s.Addr
	return fickle{name: "redis", status: 503, setting: of, isUnread: true,
		spoil: func() { user("resetkeys", "~other:*") }, mend: func() { user("allkeys") }}
}

// TestBackEndsThatAnswerAndDoNotWork: a database that became read-only, and NATS and Redis users without their rights.
// /readyz says what this means for newcomers, the metric is 0, and the alarms backend_down and unpaid come: unpaid when
// a reported win is 30 s old. When the back end is mended, every reported win is paid and the alarms end by themselves.
func TestBackEndsThatAnswerAndDoNotWork(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) fickle{
		"mysql": readOnlyMySQL, "nats": forbiddenNATS, "redis": forbiddenRedis,
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Light)
			b := begin(t)
			n := startNode(t, b.setting.config())
			spec := fund(t, n, "away", 100_000, 1_000)
			spec.WinsPerUser = 100
			c := createCampaign(t, n.client, spec)
			startRain(t, n.client, c.ID, longRain(16))
			p := join(t, n, "u", c.ID)
			p.winOne(t)
			awaitPaid(t, n, p)
			wantReady(t, n, 200, "ready")
			b.spoil()
			if b.wins {
				p.winOne(t)
			}
			status := "degraded"
			if b.status != 200 {
				status = "unready"
			}
			wantReady(t, n, b.status, status, b.name)
			up := fmt.Sprintf("redrain_backend_up{backend=%q}", b.name)
			testenv.Equal(t, metric(t, n, up), 0, "%s", up)
			awaitAlarm(t, n, "backend_down", b.name+" does not work")
			if b.isUnread {
				awaitAlarm(t, n, "unpaid", "cannot be read")
			} else {
				awaitAlarm(t, n, "unpaid", "a win of")
			}
			if age := metric(t, n, "redrain_oldest_unpaid_seconds"); age < 30 {
				t.Errorf("the oldest unpaid win is %v s old", age)
			}
			b.mend()
			wantReady(t, n, 200, "ready")
			awaitPaid(t, n, p)
			testenv.Eventually(t, time.Minute, "the alarms end", func() bool { return len(alarmsOf(t, n)) == 0 })
			testenv.Equal(t, metric(t, n, "redrain_oldest_unpaid_seconds"), 0, "the oldest unpaid win")
		})
	}
}

// wantReady waits for an answer of /readyz, and wants ?all to be 503 if something is missing.
func wantReady(t *testing.T, n *node, status int, word string, missing ...string) {
	t.Helper()
	var is struct {
		Status  string   `json:"status"`
		Missing []string `json:"missing"`
	}
	ask := func(path string) (code int) {
		answer := testenv.Got(get(t, n.url+path)).Must(t)
		defer func() { _ = answer.Body.Close() }()
		is.Status, is.Missing = "", nil
		testenv.Must(t, json.NewDecoder(answer.Body).Decode(&is))
		return answer.StatusCode
	}
	testenv.Eventually(t, 15*time.Second, fmt.Sprintf("/readyz: %d %s %v", status, word, missing), func() bool {
		return ask("/readyz") == status && is.Status == word &&
			strings.Join(is.Missing, " ") == strings.Join(missing, " ")
	})
	all := status
	if len(missing) > 0 {
		all = 503
	}
	testenv.Equal(t, ask("/readyz?all"), all, "/readyz?all")
}

func alarmsOf(t *testing.T, n *node) []openapi.OpenAlarm {
	t.Helper()
	list, err := client.Get[client.List[openapi.OpenAlarm]](within(t, 10*time.Second), n.client, "alarms")
	testenv.Must(t, err)
	return list.Items
}

// awaitAlarm waits for an open alarm whose message contains a text.
func awaitAlarm(t *testing.T, n *node, code, message string) {
	t.Helper()
	testenv.Eventually(t, 45*time.Second, "the alarm "+code, func() bool {
		for _, a := range alarmsOf(t, n) {
			if a.Code == code && strings.Contains(a.Message, message) {
				return true
			}
		}
		return false
	})
}

// awaitPaid waits until a player's balance is the sum of all reported wins.
func awaitPaid(t *testing.T, n *node, p *player) {
	t.Helper()
	var won rain.Money
	for _, w := range p.wins() {
		won += w.Amount
	}
	testenv.Eventually(t, time.Minute, p.user+" is paid", func() bool { return balanceOf(t, n, p.user) == won })
}

// TestNewcomersPlayWithout: while the database or NATS is away, newcomers join and win, players who have won come back,
// and the node stays in rotation. Later everything is paid.
func TestNewcomersPlayWithout(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	mysql := func(t *testing.T, s *setting) *testenv.Server {
		t.Helper()
		server := testenv.StartMySQL(t)
		s.mysql = server.DSN
		return server
	}
	nats := func(t *testing.T, s *setting) *testenv.Server {
		t.Helper()
		server := testenv.StartNATS(t)
		s.nats = server.URL
		return server
	}
	for name, c := range map[string]struct {
		missing     string
		start       func(t *testing.T, s *setting) *testenv.Server
		away, again func(*testenv.Server)
	}{
		"the database, killed": {"mysql", mysql, (*testenv.Server).Kill, (*testenv.Server).Start},
		"the database, frozen": {"mysql", mysql, (*testenv.Server).Freeze, (*testenv.Server).Thaw},
		"NATS, killed":         {"nats", nats, (*testenv.Server).Kill, (*testenv.Server).Start},
		"NATS, frozen":         {"nats", nats, (*testenv.Server).Freeze, (*testenv.Server).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Light)
			s := realSetting(t)
			server := c.start(t, &s)
			n := startNode(t, s.config())
			spec := fund(t, n, "without", 100_000, 1_000)
			spec.WinsPerUser = 100
			campaign := createCampaign(t, n.client, spec)
			startRain(t, n.client, campaign.ID, longRain(16))
			old := join(t, n, "old", campaign.ID)
			old.winOne(t)
			c.away(server)
			wantReady(t, n, 200, "degraded", c.missing)
			players := []*player{old}
			for i := range 5 {
				p, err := hello(t, n, fmt.Sprint("new-", i), campaign.ID)
				testenv.Must(t, err)
				p.winOne(t)
				players = append(players, p)
			}
			back, err := hello(t, n, "old", campaign.ID)
			testenv.Must(t, err)
			testenv.Equal(t, len(back.welcome.Claims), 1, "claims of the player who comes back")
			wantReady(t, n, 200, "degraded", c.missing)
			c.again(server)
			wantReady(t, n, 200, "ready")
			for _, p := range players {
				awaitPaid(t, n, p)
			}
		})
	}
}

// TestRightsAtStart: a node whose user lacks a right does not start, and names the back end and what to do.
func TestRightsAtStart(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(*testing.T) fickle
		want  []string
	}{
		"mysql": {readOnlyMySQL, []string{"mysql: does not work within", "read-only", "docs/rights.sql"}},
		"nats":  {forbiddenNATS, []string{"nats: does not work within", "_PAYOUT", "docs/rights.nats.conf"}},
		"redis": {forbiddenRedis, []string{"redis: does not work within", "NOPERM", "docs/rights.redis.conf"}},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Parallel(t, testenv.Light)
			b := c.begin(t)
			_, stop := startNodeStoppable(t, b.setting.config())
			stop() // the tables and the stream exist
			b.spoil()
			cfg := b.setting.config()
			cfg.BackendWait = time.Second
			_, err := newServer(t, cfg)
			if err == nil {
				t.Fatal("it starts")
			}
			for _, want := range c.want {
				testenv.Contains(t, err.Error(), want, "the error")
			}
		})
	}
}
