package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// absurdities are rows that make no sense, or that would be left out of a proof if their dates were believed: what is
// done, what undoes it, and what names it. kept_campaign has the campaigns as they were.
var absurdities = []struct{ what, do, undo, name string }{
	{"packets below zero",
		"UPDATE campaign SET packets = -1000 WHERE id = 'CAMPAIGN'",
		"UPDATE campaign SET packets = (SELECT packets FROM kept_campaign WHERE id = 'CAMPAIGN') WHERE id = 'CAMPAIGN'",
		"packets: is required: 1 to 100000000"},
	{"an unreadable seed",
		"UPDATE campaign SET split_seed = 'x' WHERE id = 'CAMPAIGN'",
		"UPDATE campaign SET split_seed = (SELECT split_seed FROM kept_campaign WHERE id = 'CAMPAIGN') " +
			"WHERE id = 'CAMPAIGN'",
		"split_seed: a seed is 64 hexadecimal digits"},
	{"a position from the future",
		`INSERT INTO txn (id, kind, idem_key, created_at, papers, hash)
			VALUES (900900, 'pay', 'pay:900900', FUTURE, x'00', x'00');
		INSERT INTO entry (txn_id, line_no, account_id, amount) VALUES (900900, 0, 'escrow:CAMPAIGN', -10),
			(900900, 1, 'user:user-0', 10);
		UPDATE balance SET amount = amount - 10 WHERE account_id = 'escrow:CAMPAIGN';
		UPDATE balance SET amount = amount + 10 WHERE account_id = 'user:user-0';
		UPDATE campaign_tally SET paid = paid + 1, amount_paid = amount_paid + 10 WHERE campaign_id = 'CAMPAIGN';
		UPDATE winner SET wins = wins + 1, amount = amount + 10 WHERE campaign_id = 'CAMPAIGN' AND user_id = 'user-0';
		INSERT INTO payout (campaign_id, packet, claim, user_id, amount, state, drop_id, shard, won_at, entry_seq,
			settled_at, txn_id) VALUES ('CAMPAIGN', PACKET, 'CAMPAIGN-PACKET', 'user-0', 10, 'settled', '7.1', 0,
			FUTURE, 0, FUTURE, 900900)`,
		`DELETE FROM payout WHERE txn_id = 900900;
		UPDATE winner SET wins = wins - 1, amount = amount - 10 WHERE campaign_id = 'CAMPAIGN' AND user_id = 'user-0';
		UPDATE campaign_tally SET paid = paid - 1, amount_paid = amount_paid - 10 WHERE campaign_id = 'CAMPAIGN';
		UPDATE balance SET amount = amount - 10 WHERE account_id = 'user:user-0';
		UPDATE balance SET amount = amount + 10 WHERE account_id = 'escrow:CAMPAIGN';
		DELETE FROM entry WHERE txn_id = 900900;
		DELETE FROM txn WHERE id = 900900`,
		"has ever written"},
}

// TestTheScheduleOutlivesAbsurdRows: under a running node, a campaign's rows get to make no sense. There is an alarm
// within a minute, the books of the others and of all are proved on, the campaigns are listed, and when the rows are as
// they were there is peace.
func TestTheScheduleOutlivesAbsurdRows(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.ReconcileEvery = time.Second
	n := startNode(t, cfg)
	var ids []string
	for _, name := range []string{"absurd", "sound"} {
		c, err := n.client.CreateCampaign(within(t, 20*time.Second), fund(t, n, name, 10_000, 20), "")
		testenv.Must(t, err)
		ids = append(ids, c.ID)
	}
	absurd, sound := ids[0], ids[1]
	won := winners(t, n, absurd, 2)
	awaitBooks(t, n.client, absurd)
	packet := 0 // that nobody has won
	for packet == 0 || slices.ContainsFunc(won, func(w wire.Result) bool { return w.Packet == fmt.Sprint(packet) }) {
		packet++
	}
	in := strings.NewReplacer("CAMPAIGN", absurd, "PACKET", fmt.Sprint(packet),
		"FUTURE", fmt.Sprint(time.Now().Add(24*time.Hour).UnixMilli()))
	hand := newByHand(t, "mysql", s.mysql)
	hand.do("CREATE TABLE kept_campaign AS " + allOf("campaign"))
	alarms := listen(t, n)
	api := newAPIClient(t, n)

	for _, a := range absurdities {
		before := alarms.unbalanced(absurd)
		hand.do(strings.Split(in.Replace(a.do), ";")...)
		// Ten seconds at most on a quiet machine; a slow one is given six times that, which is the minute.
		testenv.Eventually(t, 10*time.Second, a.what+": an alarm", func() bool {
			return alarms.unbalanced(absurd) > before
		})
		all, one := provedAt(t, api, sound)
		testenv.Eventually(t, time.Minute, a.what+": proofs go on", func() bool {
			allNow, oneNow := provedAt(t, api, sound)
			return allNow > all && oneNow > one
		})
		listed := api.call("GET", "/campaigns", "")
		api.want(listed, http.StatusOK, "")
		for _, id := range ids {
			if !strings.Contains(string(listed.body), `"`+id+`"`) {
				t.Errorf("%s: %s is not listed: %s", a.what, id, listed.body)
			}
		}
		wantBooks(t, n, absurd, a.what, cli.ExitFailure, a.name)
		hand.do(strings.Split(in.Replace(a.undo), ";")...)
		testenv.Eventually(t, time.Minute, a.what+", undone: peace", func() bool {
			return metric(t, n, "redrain_reconcile_difference") == 0 && metric(t, n, "redrain_reconcile_findings") == 0
		})
		wantBooks(t, n, absurd, a.what+", undone", cli.ExitOK)
	}
	if n := alarms.unbalanced(sound); n > 0 {
		t.Errorf("%d alarms about the campaign that nobody has touched", n)
	}
}

// provedAt is when the schedule has proved all books, and a campaign's.
func provedAt(t *testing.T, api *apiClient, campaign string) (all, one int64) {
	t.Helper()
	var is struct {
		Everything struct {
			ProvedAt int64 `json:"proved_at"`
		} `json:"everything"`
		Campaigns []struct {
			Campaign string `json:"campaign"`
			ProvedAt int64  `json:"proved_at"`
		} `json:"campaigns"`
	}
	got := api.call("GET", "/reconciliation/proved", "")
	if err := json.Unmarshal(got.body, &is); err != nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	for _, c := range is.Campaigns {
		if c.Campaign == campaign {
			one = c.ProvedAt
		}
	}
	return is.Everything.ProvedAt, one
}

// unbalanced is how many alarms said that a campaign's books do not balance. A slow machine may have others, about
// proofs that are late.
func (a *heardAlarms) unbalanced(campaign string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.heard {
		if one.Campaign == campaign && strings.Contains(one.Message, "do not balance") {
			n++
		}
	}
	return n
}
