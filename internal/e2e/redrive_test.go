package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"redrain/internal/operator"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestAPoisonedPayoutFromTapToRedrive: the database refuses one player's money. Their claim is failed while it is
// tried and dead after that, everybody else is paid, and when the cause is gone an operator settles all that is
// dead; the player is told.
func TestAPoisonedPayoutFromTapToRedrive(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.PayoutAttempts = 6 // ten seconds or so, in which the claim is failed
	n := startNode(t, cfg)
	db, err := sqldb.OpenMySQL(s.mysql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	statement := func(sql string) {
		t.Helper()
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	statement("CREATE TRIGGER poison BEFORE INSERT ON payout FOR EACH ROW " +
		"IF NEW.user_id = 'poison' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no money for you'; END IF")

	c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, "poison", 1_000, 10), "")
	if err != nil {
		t.Fatal(err)
	}
	long := shortRain(100)
	long.DurationMS, long.FallMS = 600_000, 20_000
	if _, err := n.client.StartRain(within(t, 10*time.Second), c.ID, long, ""); err != nil {
		t.Fatal(err)
	}
	poisoned, healthy := join(t, n, "poison", c.ID), join(t, n, "healthy", c.ID)
	won := poisoned.answered(t, poisoned.tap(poisoned.aDrop(t)))
	if won.Outcome != "won" {
		t.Fatalf("%+v", won)
	}
	if r := healthy.answered(t, healthy.tap(healthy.aDrop(t))); r.Outcome != "won" {
		t.Fatalf("%+v", r)
	}
	healthy.await(t, 20*time.Second, "the other player's money", func() bool { return len(healthy.settled) == 1 })

	state := func(want string) {
		t.Helper()
		testenv.Eventually(t, time.Minute, "the claim is "+want+" in both lists", func() bool {
			ofCampaign, err1 := n.client.Claims(t.Context(), c.ID, operator.Page{})
			ofUser, err2 := n.client.UserClaims(t.Context(), "poison", operator.Page{})
			if err1 != nil || err2 != nil || len(ofUser.Items) != 1 || ofUser.Items[0].State != want {
				return false
			}
			for _, claim := range ofCampaign.Items {
				if claim.Claim == won.Claim {
					return claim.State == want
				}
			}
			return false
		})
	}
	figures := func(what string, is func(operator.Stats) bool) {
		t.Helper()
		testenv.Eventually(t, 10*time.Second, what, func() bool {
			s, err := n.client.Stats(t.Context(), c.ID)
			return err == nil && is(s)
		})
	}
	api := newAPIClient(t, n)
	// filtered holds the claims that each filter leaves, as a list in small pages and as CSV, to how many they are.
	filtered := func(want map[string]int) {
		t.Helper()
		for filter, count := range want {
			got, cursor := 0, ""
			for {
				a := api.call("GET", "/campaigns/"+c.ID+"/claims?limit=1&cursor="+cursor+"&"+filter, "")
				api.want(a, 200, "")
				l := parse[operator.List[operator.Claim]](t, a.body)
				got += len(l.Items)
				if cursor = l.Next; cursor == "" {
					break
				}
			}
			csv := api.call("GET", "/campaigns/"+c.ID+"/claims?"+filter, "", "Accept", "text/csv")
			if rows := strings.Count(string(csv.body), "\n") - 1; got != count || rows != count {
				t.Errorf("%s: %d claims in the list and %d in the CSV, want %d", filter, got, rows, count)
			}
		}
	}
	state(operator.ClaimFailed)
	goOn := holdAttempts(t, s.mysql)
	filtered(map[string]int{
		"": 2, "state=failed": 1, "state=granted": 0, "state=settled": 1, "state=dead": 0, "user=poison": 1,
		"user=poison&state=settled": 0,
		"user=poison&state=failed":  1, "user=healthy&state=failed": 0, "packet=" + won.Packet: 1, "packet=9": 0,
		"user=nobody": 0,
		"packet=" + won.Packet + "&state=failed&user=poison": 1,
	})
	figures("it is counted as on its way", func(s operator.Stats) bool { return s.Outbox == 1 && s.Dead == 0 })
	goOn()
	state(operator.ClaimDead)
	filtered(map[string]int{"state=failed": 0, "state=dead": 1, "state=dead&user=poison": 1,
		"state=dead&user=healthy": 0, "user=poison": 1})
	figures("it is counted as dead", func(s operator.Stats) bool { return s.Outbox == 0 && s.Dead == 1 })
	if _, err := n.client.RetryPayout(within(t, 10*time.Second), won.Claim); !operator.HasCode(err, "still_dead") {
		t.Errorf("a retry while it is refused: %v", err)
	}
	statement("DROP TRIGGER poison")
	done, err := n.client.RetryPayouts(within(t, 10*time.Second), "")
	if err != nil || !reflect.DeepEqual(done, operator.Retried{Retried: 1, Settled: 1, Complete: true}) {
		t.Errorf("%+v, %v", done, err)
	}
	poisoned.await(t, 10*time.Second, "the money", func() bool { return len(poisoned.settled) == 1 })
	awaitBooks(t, n.client, c.ID)

	records, err := n.client.Audit(within(t, 10*time.Second), operator.Page{})
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]map[string]any{}
	for _, r := range records.Items {
		var detail struct {
			After map[string]any `json:"after"`
		}
		if err := json.Unmarshal(r.Detail, &detail); err != nil {
			t.Error(err)
		}
		targets[r.Action+" "+r.Target] = detail.After
	}
	if got := targets["payout.retry claim:"+won.Claim]; got["state"] != "settled" || got["user"] != "poison" {
		t.Errorf("the retry is not on record: %v", targets)
	}
	for _, what := range []string{"deposit sponsor:sponsor-poison", "campaign.create campaign:" + c.ID,
		"rain.start campaign:" + c.ID} {
		if targets[what] == nil {
			t.Errorf("%s is not on record: %v", what, targets)
		}
	}
}

// holdAttempts has no further attempt counted until goOn is called: what is failed stays so for as long as a test takes
// to look at it. Its connection is a plain one: the server ends a transaction of sqldb's that says nothing for long.
func holdAttempts(t *testing.T, dsn string) (goOn func()) {
	t.Helper()
	beside, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = beside.Close() })
	tx, err := beside.BeginTx(context.WithoutCancel(t.Context()),
		&sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	err = tx.QueryRowContext(within(t, time.Minute), "SELECT attempts FROM attempt FOR UPDATE").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	goOn = sync.OnceFunc(func() {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(goOn)
	return goOn
}
