package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/rain"
)

// fixed are the columns that a server's user may not change, by table; nil: none of them, and no row may be deleted.
var fixed = map[string][]string{
	"txn": nil, "entry": nil, "payout": nil, "reclaim": nil, "reclaim_cut": nil, "deposit": nil,
	"withdrawal_event": nil,
	"audit":            nil, "block": nil, "root": nil, "campaign_amounts": nil,
	"archive": nil, "sanction": nil, "verdict": nil,
	"seal_key": nil, "goose_db_version": nil,
	"campaign": {"id", "name", "sponsor", "budget", "packets", "split", "min_amount", "max_amount", "wins_per_user",
		"taps_per_user", "shards", "capacity", "admit_per_second", "players_list", "guests_share", "expires_in_ms",
		"created_at", "split_seed"},
	"withdrawal": {"id", "user_id", "amount", "created_at", "txn_id"},
	"move": {"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets", "from_number", "epoch",
		"created_at"},
	"held": {"claim", "campaign_id", "packet", "user_id", "amount", "won_at", "drop_id", "verdict", "score", "reasons",
		"held_at", "hold_id"},
	"approval": {"id", "action", "target", "amount", "reference", "letter", "seen", "reason", "asked_by", "asked_id",
		"asked_at", "expires_at"},
}

// changing are the tables whose rows may be changed; removable those from which rows may be deleted, too.
var (
	changing = []string{"balance", "winner", "campaign_tally", "shard_epoch", "shard_mark", "rain",
		"dead_letter", "proof", "lease"}
	removable = []string{"attempt", "attempt_claim", "figure", "idempotency", "list_member", "player_list",
		"provider_pace", "provider_try"}
)

// TestTheServersUserCanOnlyAppend holds docs/rights.sql to what is append-only, on a real server: every column of every
// table, and every DELETE.
func TestTheServersUserCanOnlyAppend(t *testing.T) {
	t.Parallel()
	user, owner := paytest.OnRights(t)
	columns := map[string][]string{}
	paytest.Must(t, owner.DB.Each(t.Context(), func(scan sqldb.Scan) error {
		var table, column string
		err := scan(&table, &column)
		columns[table] = append(columns[table], column)
		return err
	}, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() "+
		"AND table_name <> 'account'")) // a view: see the statements below
	refused := func(statement string) bool {
		t.Helper()
		_, err := user.DB.Exec(t.Context(), statement)
		if err != nil && !strings.Contains(err.Error(), "command denied") {
			t.Errorf("%s: %v", statement, err)
		}
		return err != nil
	}
	for table, all := range columns {
		held, known := fixed[table]
		if held == nil {
			held = all
		}
		switch {
		case known:
			for _, column := range all {
				if got, want := refused("UPDATE "+table+" SET "+column+" = "+column),
					slices.Contains(held, column); got != want {
					t.Errorf("%s.%s: a change is refused: %v, want %v", table, column, got, want)
				}
			}
		case !slices.Contains(changing, table) && !slices.Contains(removable, table):
			t.Errorf("say in docs/rights.sql, and here, what a server may do with the rows of the table %s", table)
		}
		if got, want := refused("DELETE FROM "+table), !slices.Contains(removable, table); got != want {
			t.Errorf("%s: a DELETE is refused: %v, want %v", table, got, want)
		}
	}
	for _, statement := range []string{"DROP TABLE audit", "TRUNCATE TABLE audit", "ALTER TABLE audit ADD x INT",
		"UPDATE account SET id = 'user:me'", "DELETE FROM account", "DROP VIEW account",
		"CREATE TABLE more (x INT)", "CREATE TRIGGER x BEFORE INSERT ON payout FOR EACH ROW SET NEW.amount = 1"} {
		if !refused(statement) {
			t.Errorf("not refused: %s", statement)
		}
	}
}

// TestTheLedgerWorksWithTheServersRights: its main paths, by a user with those rights alone.
func TestTheLedgerWorksWithTheServersRights(t *testing.T) {
	t.Parallel()
	b, _ := paytest.OnRights(t)
	ctx := t.Context()
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 120, Packets: 12, Shards: 3})
	paytest.Must(t, b.Moves.Write(ctx, "c1", 2, rain.Lent{Move: "m1", To: 1, Number: 1,
		Numbers: paytest.Packets(11, 11)}))
	paytest.Must(t, b.Moves.Done(ctx, "m1", 1))
	won := paytest.Entry("c1", 1, paytest.Win("u", 0, 10), paytest.Win("v", 1, 10))
	for range 2 {
		b.MustPost(t, won)
	}
	taken := paytest.Entry("c1", 2, paytest.Win("u", 2, 10), paytest.Win("w", 0, 10)) // w's is paid to u already
	_, err := b.Attempt(ctx, taken, errors.New("not now"), 10)
	paytest.Must(t, err)
	b.MustPost(t, taken)
	letters, _, err := b.ListDeadLetters(ctx, "", 10)
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	_, err = b.Dismiss(paytest.As(t, "payout.dismiss"), letters[0].Claim, 0, "nobody's")
	paytest.Must(t, err)
	b.MustFence(t, 1)
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 3, paytest.Packets(3, 3)...))
	withdrawWithRights(t, b)
	upkeepWithRights(t, b)
	b.CheckBooks(t)
	books, err := b.Proof.ReconcileAll(ctx, paytest.NewFakeRedis(b.Clock.Now), nil)
	if err != nil || len(books.Findings) > 0 {
		t.Errorf("%q, %v", books.Findings, err)
	}
}

// withdrawWithRights has withdrawals paid, refused and retried.
func withdrawWithRights(t *testing.T, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	b.Withdrawals = b.Paced(ledger.ReceiverLimits{Rate: 1e6, InFlight: 10})
	paid := b.MustSend(t, "w1", "u", 5)
	paytest.Must(t, b.RecordWaiting(ctx, paid, ledger.Waiting{State: ledger.WithdrawalAction, Reason: "confirm",
		Action: ledger.Action{URL: "https://pay.example"}}))
	paid = b.LeaseOne(t)
	paytest.Must(t, b.RecordRetry(ctx, paid, 0, "no answer"))
	paid = b.LeaseOne(t)
	paytest.Must(t, b.RecordDead(ctx, paid, "silence"))
	_, err := b.Retry(paytest.As(t, "payout.retry"), "w1")
	paytest.Must(t, err)
	paytest.Must(t, b.RecordPaid(ctx, b.LeaseOne(t), "theirs"))
	paytest.Must(t, b.RecordRefused(ctx, b.MustSend(t, "w2", "u", 5), "no such account"))
}

// upkeepWithRights does what goes on beside the money.
func upkeepWithRights(t *testing.T, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	for range 2 {
		held, err := b.Lease(ctx, "job", "me", time.Minute)
		if err != nil || !held.Held() {
			t.Errorf("lease: %+v, %v", held, err)
		}
	}
	paytest.Must(t, b.ReleaseLease(ctx, "job", "me"))
	for _, end := range []func() error{
		func() error { return b.Finish(ctx, "key", ledger.Answer{Status: 201, Body: []byte("{}")}) },
		func() error { return b.Forget(ctx, "other") },
	} {
		_, err := b.Begin(ctx, "key", []byte("{}"))
		paytest.Must(t, errors.Join(err, end()))
	}
	b.Clock.Add(time.Hour.Milliseconds())
	_, err := b.Seals.Rotate(ctx)
	paytest.Must(t, err)
	node := paytest.Node(t, b)
	for range 2 {
		paytest.Must(t, node.Proofs.NoteProofs(ctx, []ledger.Proof{{Campaign: "c1", ProvedAt: 7, Balanced: true}}))
	}
	paytest.HashAll(t, b.DB)
	root, err := node.Roots.Take(ctx)
	if err != nil || root == nil {
		t.Errorf("%+v, %v", root, err)
	}
	v, err := node.Roots.Verify(ctx, chain.VerifyOptions{Found: func(what string) { t.Error(what) }})
	if err != nil || v.Roots != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}
