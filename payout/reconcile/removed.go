package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/chain"
	"redrain/rain"
)

// The payouts of a campaign may be removed after an export: see docs/use/retention.md. The transactions with their
// lines, the balances, the reclaims and the tally stay, so all sums can be checked. The row of the table archive
// names the export and has the payouts' sums.

// findRemoved finds the payments of a page whose payouts are removed. Their lines have no rows to be compared with.
// Their hashes prove them.
func (p *txnPage) findRemoved(ctx context.Context, q sqldb.Querier, ids []int64) error {
	of := map[string][]int64{}
	for _, id := range ids {
		if p.kinds[id] != booking.KindPay {
			continue
		}
		for _, ln := range p.lines[id] {
			if campaign, escrow := strings.CutPrefix(ln.account, booking.KindEscrow+":"); escrow {
				of[campaign] = append(of[campaign], id)
			}
		}
	}
	removed, err := chain.Removed(ctx, q, sortedKeys(of))
	p.removed = map[int64]bool{}
	for campaign := range removed {
		for _, id := range of[campaign] {
			p.removed[id] = true
		}
	}
	return err
}

// checkRemoved checks a campaign whose payouts were removed.
func (r *campaignCheck) checkRemoved(ctx context.Context, tx *sqldb.Tx) error {
	r.given = true // no packet has a place any more
	r.shards = nil // an open dead letter has no money: the export contains its entry
	r.scope.rows = true
	if !r.campaign.Drained || r.campaign.Status != rain.Closed {
		r.found.add("a campaign that was removed", "the table archive has the campaign, which is not over")
	}
	steps := []step{r.readReclaims, r.readRemovedPayouts, r.readLetters, r.checkEscrow, r.checkTally}
	if r.scope.txns {
		steps = append(steps, r.checkTxns)
	}
	return r.run(ctx, tx, steps)
}

// readRemovedPayouts reads the payouts' sums from the table archive.
func (r *campaignCheck) readRemovedPayouts(ctx context.Context, q sqldb.Querier) error {
	var file string
	_, err := q.First(ctx, []any{&file, &r.all.Paid, &r.all.AmountPaid},
		"SELECT file, payouts, amount FROM archive WHERE campaign_id = ?", r.campaign.ID)
	if err != nil {
		return err
	}
	r.astray = r.all.AmountPaid
	if n := r.all.Paid + r.all.Reclaimed; n != int64(r.campaign.Packets) {
		r.found.add("packets of a removed campaign", "by the table archive and the reclaims %d packets were paid and "+
			"%d returned, and the campaign had %d", r.all.Paid, r.all.Reclaimed, r.campaign.Packets)
	}
	var left string
	more, err := q.First(ctx, []any{&left}, "SELECT claim FROM payout WHERE campaign_id = ? LIMIT 1", r.campaign.ID)
	if err != nil {
		return err
	}
	if more {
		r.found.add("payouts of a removed campaign", "payouts of the campaign are left, as %s, and the table archive "+
			"has it: its removal has not ended, or they were added", left)
	}
	exported := false
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var detail []byte
		var says struct {
			SHA256 string `json:"sha256"`
		}
		err := scan(&detail)
		exported = exported || json.Unmarshal(detail, &says) == nil && says.SHA256 == file
		return err
	}, "SELECT detail FROM audit WHERE action = 'campaign.export' AND target = ?", "campaign:"+r.campaign.ID)
	if err != nil {
		return fmt.Errorf("read the audit of its export: %w", err)
	}
	if !exported {
		r.found.add("a removal without an export", "the table archive names the export %s, and the audit has no such "+
			"export of the campaign", file)
	}
	return nil
}
