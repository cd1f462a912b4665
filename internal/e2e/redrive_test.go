package e2e

import (
	"context"
	"reflect"
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

// TestAPoisonedPayoutFromTapToRedrive: the database refuses one player's money. Their claim is failed during the tries
// and dead after them; all others are paid. When the cause is gone, an operator settles all dead claims, and the player
// gets the notice.
func TestAPoisonedPayoutFromTapToRedrive(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.PayoutAttempts = 6 // ten seconds or so, in which the claim is failed
	n := startNode(t, cfg)
	db := testenv.Got(sqldb.OpenMySQL(s.mysql)).Must(t)
	defer func() { _ = db.Close() }()
	statement := func(sql string) {
		t.Helper()
		err := db.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		testenv.Must(t, err)
	}
	statement("CREATE TRIGGER poison BEFORE INSERT ON payout FOR EACH ROW " +
		"IF NEW.user_id = 'poison' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no money for you'; END IF")

	c := createCampaign(t, n.client, fund(t, n, "poison", 1_000, 10))
	startRain(t, n.client, c.ID, longRain(16))
	poisoned, healthy := join(t, n, "poison", c.ID), join(t, n, "healthy", c.ID)
	won := poisoned.winOne(t)
	healthy.winOne(t)
	healthy.await(t, 20*time.Second, "the other player's money", func() bool { return len(healthy.settled) == 1 })

	state := func(want string) {
		t.Helper()
		testenv.Eventually(t, time.Minute, "the claim is "+want+" in both lists", func() bool {
			ofCampaign, err1 := client.Get[client.List[client.Claim]](t.Context(), n.client, "campaigns", c.ID,
				"claims")
			ofUser, err2 := client.Get[client.List[client.Claim]](t.Context(), n.client, "users", "poison", "claims")
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
	state(client.ClaimFailed)
	state(client.ClaimDead)
	testenv.Eventually(t, 10*time.Second, "it is counted as dead", func() bool {
		s, err := n.client.Stats(t.Context(), c.ID)
		return err == nil && s.Outbox == 0 && s.Dead == 1
	})
	if _, err := client.Post[client.Claim](within(t, 10*time.Second), n.client, nil, "payouts", won.Claim,
		"retry"); !hasCode(err, "still_dead") {
		t.Errorf("a retry while it is refused: %v", err)
	}
	statement("DROP TRIGGER poison")
	done, err := n.client.RetryPayouts(within(t, 10*time.Second), "")
	if err != nil || !reflect.DeepEqual(done, client.Retried{Retried: 1, Settled: 1, Complete: true}) {
		t.Errorf("%+v, %v", done, err)
	}
	poisoned.await(t, 10*time.Second, "the money", func() bool { return len(poisoned.settled) == 1 })
	awaitBooks(t, n.client, c.ID)
}
