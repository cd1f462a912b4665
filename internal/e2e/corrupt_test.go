package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"redrain/client"
	"redrain/grab/store"
	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/config"
)

// reconcile runs `redrain reconcile` against a node, and returns its exit code and what it says.
func reconcile(n *node, args ...string) (code int, said string) {
	var stdout, stderr bytes.Buffer
	args = append([]string{"reconcile", "--server", n.url, "--token", viewerToken}, args...)
	code = cli.Main(args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// wantBooks runs `redrain reconcile` for a campaign and for everything.
func wantBooks(t *testing.T, n *node, campaign, what string, code int, names ...string) {
	t.Helper()
	for _, args := range [][]string{{campaign}, {}, {"--full"}} {
		got, said := reconcile(n, args...)
		if got != code {
			t.Errorf("%s: redrain reconcile %v exits with %d:\n%s", what, args, got, said)
		}
		for _, name := range names {
			if !strings.Contains(said, name) {
				t.Errorf("%s: redrain reconcile %v does not say %q:\n%s", what, args, name, said)
			}
		}
	}
}

// winners lets players win one packet each.
func winners(t *testing.T, n *node, campaign string, count int) []wire.Result {
	t.Helper()
	long := shortRain(100)
	long.DurationMS, long.FallMS = 600_000, 20_000
	testenv.Must(t, testenv.Err(n.client.StartRain(within(t, 10*time.Second), campaign, long, "")))
	won := make([]wire.Result, count)
	for i := range won {
		p := join(t, n, fmt.Sprintf("user-%d", i), campaign)
		if won[i] = p.answered(t, p.tap(p.aDrop(t))); won[i].Outcome != "won" {
			t.Fatalf("%s: %+v", p.user, won[i])
		}
	}
	return won
}

// TestADeletedOutboxEntryIsFoundAndPaid deletes a win from Redis by hand before any node has settled it. The node
// that has told it has published it.
func TestADeletedOutboxEntryIsFoundAndPaid(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.Roles = []string{config.RoleGateway, config.RoleOperator} // nobody empties the outbox
	n := startNode(t, cfg)
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "outbox", 10_000, 20), "")
	testenv.Must(t, err)
	won := winners(t, n, c.ID, 3)
	wantBooks(t, n, c.ID, "before", cli.ExitOK, "every cent is accounted for")

	rdb, err := store.Connect(s.redis)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	outbox := s.namespace + ":{" + c.ID + ".0}:outbox"
	entries, err := rdb.XRange(t.Context(), outbox, "-", "+").Result()
	if err != nil || len(entries) != len(won) {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	testenv.Must(t, rdb.XDel(t.Context(), outbox, entries[1].ID).Err())
	name := fmt.Sprintf("claim %s (packet %s, player user-1, amount %d, outbox entry %s.0.%s): "+
		"won in Redis, but neither in an outbox nor in the ledger",
		won[1].Claim, won[1].Packet, int64(won[1].Amount), c.ID, entries[1].ID)
	wantBooks(t, n, c.ID, "deleted", cli.ExitFailure, name)
	startNode(t, s.config())
	testenv.Eventually(t, time.Minute, "all of them paid", func() bool {
		stats, err := n.client.Stats(within(t, 5*time.Second), c.ID)
		return err == nil && stats.Paid == int64(len(won))
	})
	wantBooks(t, n, c.ID, "deleted, and paid", cli.ExitOK, "every cent is accounted for")
}

// TestTheScheduleFindsIt: nobody asks, and all the same there is an alarm, a figure, and in the end peace.
func TestTheScheduleFindsIt(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.ReconcileEvery = time.Second
	n := startNode(t, cfg)
	startNode(t, cfg) // a second one, which leaves the work to the first
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "schedule", 10_000, 20), "")
	testenv.Must(t, err)
	winners(t, n, c.ID, 2)
	awaitBooks(t, n.client, c.ID)
	hand := newByHand(t, "mysql", s.mysql)
	heard := errors.New("heard")
	var alarm struct {
		Code     string `json:"code"`
		Campaign string `json:"campaign"`
		Message  string `json:"message"`
	}
	// The feed is open before anything is wrong: the first event is a figure of the rain.
	broken := false
	err = n.client.Events(within(t, time.Minute), func(e client.Event) error {
		if !broken {
			broken = true
			hand.do("UPDATE campaign_tally SET amount_paid = amount_paid + 1")
		}
		if e.Name != client.EventAlarm {
			return nil
		}
		if err := json.Unmarshal(e.Data, &alarm); err != nil {
			return err
		}
		return heard
	})
	if !errors.Is(err, heard) || alarm.Code != "reconciliation" || alarm.Campaign != c.ID ||
		!strings.Contains(alarm.Message, "do not balance") {
		t.Fatalf("%v: %+v", err, alarm)
	}
	if metric(t, n, "redrain_reconcile_difference")+metric(t, n, "redrain_reconcile_findings") < 1 {
		t.Error("the metrics show nothing")
	}
	hand.do("UPDATE campaign_tally SET amount_paid = amount_paid - 1")
	testenv.Eventually(t, 30*time.Second, "figures of peace", func() bool {
		return metric(t, n, "redrain_reconcile_difference") == 0 && metric(t, n, "redrain_reconcile_findings") == 0
	})
}

// metric is the value of a metric without labels.
func metric(t *testing.T, n *node, name string) (value float64) {
	t.Helper()
	resp, err := get(t, n.url+"/metrics")
	testenv.Must(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	testenv.Must(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			testenv.Must(t, testenv.Err(fmt.Sscan(rest, &value)))
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestRedisAwayIsNotADifference: what cannot be checked is not proved, and is not said to be wrong. What Redis has
// lost is named.
func TestRedisAwayIsNotADifference(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	redis := testenv.StartRedis(t)
	s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t), namespace: testenv.Namespace(t)}
	n := startNode(t, s.config())
	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "away", rain.Money(1_000), 10), "")
	testenv.Must(t, err)
	redis.Kill()
	code, said := reconcile(n)
	if code != cli.ExitFailure || !strings.Contains(said, "campaign "+c.ID+"  not checked: ") ||
		!strings.Contains(said, "nothing is proved") || strings.Contains(said, "finding") {
		t.Errorf("exit %d:\n%s", code, said)
	}
	redis.Start()
	testenv.Eventually(t, 30*time.Second, "Redis back", func() bool {
		code, said = reconcile(n)
		return code == cli.ExitOK
	})
	rdb, err := store.Connect(s.redis)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	testenv.Must(t, rdb.FlushAll(t.Context()).Err())
	wantBooks(t, n, c.ID, "Redis has forgotten", cli.ExitFailure, "shard 0: Redis has lost it")
}
