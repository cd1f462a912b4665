package e2e

import (
	"testing"
	"time"

	"redrain/client"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/rain"
)

// giveVerdict writes a verdict of the rules against players into the ledger of a setting.
func giveVerdict(t *testing.T, s setting, act standing.VerdictAct, users ...string) {
	t.Helper()
	db, err := sqldb.OpenMySQL(s.mysql)
	testenv.Must(t, err)
	defer func() { testenv.Must(t, db.Close()) }()
	risk := ledger.New(db, func() int64 { return time.Now().UnixMilli() }, rain.NewAmountsCache()).Risk
	for _, user := range users {
		_, err = risk.Give(within(t, 20*time.Second), ledger.ByRules, standing.Verdict{User: user, Act: act, Score: 70,
			Reasons: standing.EncodeReasons([]standing.Reason{
				{Rule: "fast_hands", Score: 70, Sentence: "12 of 12 taps"},
			})})
		testenv.Must(t, err)
	}
}

// heldOf are a player's wins that are kept apart.
func heldOf(t *testing.T, n *node, user string) (claims []string, amount rain.Money) {
	t.Helper()
	list := testenv.Got(n.client.HeldWins(within(t, 10*time.Second), client.Page{Limit: 500})).Must(t)
	for _, h := range list.Items {
		if h.User == user {
			claims, amount = append(claims, h.Claim), amount+h.Amount
		}
	}
	return claims, amount
}

// TestHeldWinsOverKills: a node dies after it has posted a held win, and at each step of a release and of a
// confirmation. A second decision finds the first one: each win belongs once to its player or to its sponsor, not to
// both.
func TestHeldWinsOverKills(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Medium)
	s := realSetting(t)
	cases := []struct{ act, point string }{
		{"release", "held.before_commit"}, {"release", "held.after_commit"}, {"release", "held.after_trust"},
		{"confirm", "held.before_commit"}, {"confirm", "held.after_commit"},
	}
	posted := "posted"
	users := []string{posted}
	for _, c := range cases {
		users = append(users, c.act+"-"+c.point)
	}
	doomed := startProcess(t, s, "REDRAIN_RISK=hold", "REDRAIN_FAULT_AT=settle.after_commit")
	giveVerdict(t, s, standing.Hold, users...)
	spec := fund(t, doomed.node, "held", 10_000, 100)
	spec.WinsPerUser = 3
	c := createCampaign(t, doomed.client, spec)
	startRain(t, doomed.client, c.ID, longRain(20))
	first := join(t, doomed.node, posted, c.ID)
	first.tap(first.freshDrop(t))
	doomed.awaitDeath(t, time.Minute)

	sound := startProcess(t, s, "REDRAIN_RISK=hold", "REDRAIN_VIEWER_TOKEN="+viewerToken)
	win := func(user string) (claims []string, amount rain.Money) {
		t.Helper()
		p := join(t, sound.node, user, c.ID)
		p.winOne(t)
		testenv.Eventually(t, time.Minute, "the win of "+user+" is held", func() bool {
			claims, amount = heldOf(t, sound.node, user)
			return len(claims) == 1
		})
		p.hangUp()
		return claims, amount
	}
	testenv.Eventually(t, time.Minute, "what was posted at the kill is held", func() bool {
		claims, _ := heldOf(t, sound.node, posted)
		return len(claims) == 1
	})
	var confirmed rain.Money
	for _, k := range cases {
		user := k.act + "-" + k.point
		claims, amount := win(user)
		doomed := startProcess(t, s, "REDRAIN_RISK=hold", "REDRAIN_FAULT_AT="+k.point)
		if _, err := doomed.client.DecideHeld(within(t, 20*time.Second), k.act, claims, "looked at it"); err == nil {
			t.Errorf("%s: answered by a node that is dead", user)
		}
		doomed.awaitDeath(t, time.Minute)
		held, _ := heldOf(t, sound.node, user)
		testenv.Equal(t, k.point != "held.before_commit", len(held) == 0,
			"%s: after the kill %d are held", user, len(held))
		other := map[string]string{"release": "confirm", "confirm": "release"}[k.act]
		for _, act := range []string{k.act, k.act, other} {
			testenv.Must(t, testenv.Err(sound.client.DecideHeld(within(t, 20*time.Second), act, claims, "again")))
		}
		want := amount
		if k.act == "confirm" {
			want, confirmed = 0, confirmed+amount
		}
		testenv.Equal(t, balanceOf(t, sound.node, user), want, "balance of %s", user)
	}
	testenv.Equal(t, depositOf(t, sound.node, spec.Sponsor), confirmed, "the sponsor has")
	wantBooks(t, sound.node, c.ID, "after all kills", 0)
}
