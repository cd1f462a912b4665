package reconcile_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/history"
	"redrain/payout/paytest"
)

// gone are rows that somebody makes vanish by hand, of one book.
type gone struct{ book, where string }

// forgedArchive is an archive that somebody forges who knows how hashes are made: stubs, steps, its history and, where
// audited, what the audit would have.
type forgedArchive struct {
	id      string
	rows    []gone
	audited bool
	as      func(l *chain.Linked) // changes what the stubs say
	named   string
}

var (
	paidWithdrawal = []gone{
		{chain.Txns, "idem_key IN ('withdraw:w-paid', 'paid:w-paid')"},
		{chain.Events, "withdrawal_id = 'w-paid'"}, {chain.Histories, "thing = 'w-paid'"}}
	deposit = []gone{{chain.Txns, "idem_key = 'deposit:acme:more'"}}
	ofC3    = []gone{{chain.Txns, "idem_key LIKE 'pay:c3.%' OR idem_key LIKE 'reclaim:c3.%'"}}
)

const (
	noArchive = "is neither of a campaign that is over nor of audit records up to a day"
	notLeft   = "is nothing that leaves with it"
)

var forgedArchives = map[string]forgedArchive{
	"a deposit, with what is no audit":            {"audit before 2099-01-01", deposit, true, nil, noArchive},
	"a deposit, with audit records of a day":      {"audit to DAY", deposit, true, nil, notLeft},
	"a deposit, with a campaign":                  {"c3", slices.Concat(ofC3, deposit), true, nil, notLeft},
	"a paid withdrawal, with a campaign":          {"c3", slices.Concat(ofC3, paidWithdrawal), true, nil, notLeft},
	"a paid withdrawal, with audit records":       {"audit to DAY", paidWithdrawal, true, nil, notLeft},
	"the events of a withdrawal, with a campaign": {"c3", paidWithdrawal[1:2], true, nil, notLeft},
	"what operators did about a player": {"audit to DAY", []gone{{chain.Histories, "kind = 'player'"}}, true, nil,
		notLeft},
	"a payment of another campaign": {"c3", []gone{{chain.Txns, "idem_key LIKE 'pay:c1.%'"}}, true, nil, notLeft},
	"a deposit as if it were a payment": {"c3", deposit, true, func(l *chain.Linked) {
		l.Kind, l.Key = "pay", "pay:c3.0.1-0:1"
	}, notLeft},
	"one audit record": {"audit to DAY", []gone{{chain.Audits, "id = 1"}}, true, nil,
		"all audit records up to that day have left the books"},
	"audit records of a day without a root": {"audit to 2099-01-01", []gone{{chain.Audits, "id = 1"}}, true, nil,
		noArchive},
	"payments, of which the audit says nothing": {"c3", ofC3, false, nil, "the audit does not say what it says"},
	"payments, without a transaction that carries": {"c3", ofC3, true, nil,
		"what transactions that have left the books have moved is carried by another one"},
	"payments of a campaign that rains": {"c1", []gone{{chain.Txns, "idem_key LIKE 'pay:c1.%'"}}, true, nil, noArchive},
}

// TestNoForgedArchiveHidesRows makes rows vanish with archives that are forged to the last hash. Both proofs name them.
func TestNoForgedArchiveHidesRows(t *testing.T) {
	t.Parallel()
	for what, forged := range forgedArchives {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			f := fullLedger(t, b)
			roots, err := chain.AllRoots(t.Context(), b.DB)
			paytest.Must(t, err)
			closeAll(t, b, f)
			if forged.id == "audit to DAY" {
				forged.id = chain.AuditArchive + roots[0].Day
			}
			paytest.Must(t, b.DB.InTx(t.Context(), forged.make))
			for _, recent := range []bool{true, false} {
				found := (&columnLedger{t: t, b: b, f: f, recent: recent}).prove()
				if !names(found, forged.named) {
					t.Errorf("recent %v: %q is not named in %q", recent, forged.named, found)
				}
			}
		})
	}
}

// make writes the archive, with a step for each of the rows.
func (a *forgedArchive) make(ctx context.Context, tx *sqldb.Tx) error {
	paper := chain.Paper{ID: a.id, File: "00", Actor: "root@db", BeganAt: 1}
	for n, rows := range a.rows {
		links, err := linksOf(ctx, tx, rows)
		if err != nil {
			return err
		}
		if a.as != nil {
			for i := range links {
				a.as(&links[i])
			}
		}
		step, _ := chain.NewStep(rows.book, links, chain.Step{Archive: a.id, Number: int64(n) + 1, At: 1})
		paper.Links += step.Links
		if err := chain.Leave(ctx, tx, rows.book, links, step); err != nil {
			return err
		}
		if rows.book == chain.Txns {
			if _, err := tx.Exec(ctx, "DELETE FROM entry WHERE txn_id IN (SELECT id FROM txn WHERE "+rows.where+
				")"); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "DELETE FROM "+rows.book+" WHERE "+rows.where); err != nil {
			return err
		}
	}
	began := paper
	paper.FinishedAt = 2
	if _, err := tx.Exec(ctx, "INSERT INTO archive (id, file, links, payouts, amount_paid, packets_back, amount_back, "+
		"actor, began_at, finished_at) VALUES (?, ?, ?, 0, 0, 0, 0, ?, 1, 2)", a.id, paper.File, paper.Links,
		paper.Actor); err != nil {
		return err
	}
	if err := history.Note(ctx, tx, 2, history.Archive, a.id); err != nil || !a.audited {
		return err
	}
	of, target := "campaign", "campaign:"+a.id
	if day, audit := strings.CutPrefix(a.id, chain.AuditArchive); audit {
		of, target = "audit", "audit:"+day
	}
	for action, detail := range map[string]any{".export": map[string]string{"sha256": paper.File}, ".drop": began,
		".dropped": paper} {
		text, err := json.Marshal(detail)
		if err != nil {
			return err
		}
		if err := chain.Append(ctx, tx, chain.Audits, []any{2, "root@db", "database", of + action, target,
			string(text)}); err != nil {
			return err
		}
	}
	return nil
}

// linksOf are the links of rows as they are.
func linksOf(ctx context.Context, q sqldb.Querier, rows gone) (links []chain.Linked, err error) {
	type place struct{ id, stripe, link int64 }
	places, err := sqldb.List(ctx, q, func(scan sqldb.Scan) (p place, err error) {
		err = scan(&p.id, &p.stripe, &p.link)
		return p, err
	}, "SELECT id, stripe, link FROM "+rows.book+" WHERE "+rows.where)
	for _, p := range places {
		if rows.book == chain.Txns {
			of, err := chain.TxnLinks(ctx, q, []int64{p.id})
			if err != nil {
				return nil, err
			}
			links = append(links, of[p.id])
			continue
		}
		of, err := chain.RecordLinks(ctx, q, rows.book, p.stripe, p.link-1, 1)
		if err != nil {
			return nil, err
		}
		links = append(links, of...)
	}
	return links, err
}
