package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"redrain/payout/archive"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// testingT is what rapid's and Go's own tests have in common.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func must(t testingT, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// over makes a campaign that is over: of n packets of 10 each, all but two were won in several transactions, by few
// players.
func over(t testing.TB, b *paytest.Books, id string, n int) {
	t.Helper()
	b.OpenCampaign(t, id, rain.Spec{Budget: rain.Money(10 * n), Packets: n})
	for packet := range n - 2 {
		b.MustPost(t, paytest.Entry(id, packet+1, paytest.Win(fmt.Sprintf("u%d", packet%3), packet, 10)))
	}
	end(t, b, id, n)
}

// end closes a campaign whose last two packets nobody has won.
func end(t testing.TB, b *paytest.Books, id string, n int) {
	t.Helper()
	b.CloseCampaign(t, id)
	back := paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: id, ID: fmt.Sprintf("%d-0", 1000+n)},
		Reclaim: &rain.Reclaim{Numbers: paytest.Packets(n-2, n-1), Amount: 20}})
	b.MustPost(t, back)
	_, err := b.Update(context.Background(), id, func(c *rain.Campaign) error { c.Drained = true; return nil })
	must(t, err)
}

// exported writes a campaign's export, as the server does, with the record in the audit.
func exported(t testingT, b *paytest.Books, id string) []byte {
	t.Helper()
	var file bytes.Buffer
	trailer, err := export.New(b.DB, b.Clock.Now).Write(context.Background(), id, "ann", nil, &file)
	must(t, err)
	detail, err := json.Marshal(map[string]any{"sha256": trailer.SHA256})
	must(t, err)
	must(t, b.Audit(context.Background(), ledger.AuditRecord{Actor: "ann", Action: "campaign.export",
		Target: "campaign:" + id, Detail: detail}))
	return file.Bytes()
}

func read(t testingT, file []byte) archive.File {
	t.Helper()
	f, err := archive.ReadFile(bytes.NewReader(file))
	must(t, err)
	return f
}

// findings is all that the proofs find: the one of everything, the one of what is recent, and the walk along the
// chains.
func findings(t testingT, b *paytest.Books) (found []string) {
	t.Helper()
	f := paytest.NewFakeRedis(b.Clock.Now)
	for _, prove := range []func(context.Context, reconcile.Hot, reconcile.CampaignProved) (reconcile.Books, error){
		b.Proof.ReconcileAll, b.Proof.ReconcileRecent} {
		books, err := prove(context.Background(), f, nil)
		must(t, err)
		found = append(found, books.Findings...)
		for _, c := range books.Campaigns {
			found = append(found, append(c.Findings, fmt.Sprintf("campaign %s: difference %d", c.Campaign,
				c.Difference))...)
		}
		if !books.Balanced && len(found) == 0 {
			found = append(found, fmt.Sprintf("%+v", books))
		}
	}
	_, err := chain.Audit(context.Background(), b.DB, chain.AuditOptions{Found: func(s string) {
		found = append(found,
			s)
	}})
	must(t, err)
	return found
}

// clean fails where a proof finds anything.
func clean(t testingT, b *paytest.Books, when string) {
	t.Helper()
	if found := findings(t, b); len(found) > 0 {
		t.Fatalf("%s: %q", when, found)
	}
}

// rowsLeft are how many rows of campaign c1 are left.
func rowsLeft(t testing.TB, b *paytest.Books) (n int) {
	t.Helper()
	for _, table := range []string{"payout", "winner", "reclaim", "reclaim_cut"} {
		n += b.Count(t, "SELECT COUNT(*) FROM "+table+" WHERE campaign_id = 'c1'")
	}
	return n +
		b.Count(t, "SELECT COUNT(*) FROM txn WHERE kind IN ('pay', 'reclaim') AND id IN (SELECT txn_id FROM entry "+
			"WHERE account_id = 'escrow:c1')")
}
