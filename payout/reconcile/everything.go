package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// maxListed is the largest number of listed campaigns.
const maxListed = 500

// CampaignProved is called after each campaign. If its Redis could not be read, the error is ErrHot. It may be nil.
type CampaignProved func(campaign string, r Reconciliation, err error)

// Books is the result of a reconciliation of everything.
type Books struct {
	Balanced     bool              `json:"balanced"`     // every campaign was checked, without a finding anywhere
	Difference   rain.Money        `json:"difference"`   // the sum of all campaigns' absolute differences
	Checked      int               `json:"checked"`      // checked campaigns
	Unbalanced   int               `json:"unbalanced"`   // campaigns with a finding
	Transactions int64             `json:"transactions"` // checked ones
	Accounts     int64             `json:"accounts"`     // checked ones
	Campaigns    []CampaignBooks   `json:"campaigns"`    // the first of the unbalanced ones
	Unchecked    []CampaignProblem `json:"unchecked"`    // the first of those whose Redis could not be read
	Findings     []string          `json:"findings"`     // in the ledger itself
	Letters      []string          `json:"letters"`      // descriptions of all open dead letters
	CheckedAt    int64             `json:"checked_at"`   // Unix ms, at the end
	TookMS       int64             `json:"took_ms"`

	// Fingerprint is equal for two reconciliations with the same findings in the ledger itself.
	Fingerprint string `json:"-"`
}

// CampaignBooks is the reconciliation of one campaign.
type CampaignBooks struct {
	Campaign string `json:"campaign"`
	Reconciliation
}

// CampaignProblem is the reason why a campaign could not be checked.
type CampaignProblem struct {
	Campaign string `json:"campaign"`
	Reason   string `json:"reason"`
}

func emptyBooks() Books {
	return Books{Campaigns: []CampaignBooks{}, Unchecked: []CampaignProblem{}, Findings: []string{}}
}

// finish sets the result of a full reconciliation.
func (s *Reconciler) finish(b *Books, found *findings, began int64) {
	b.Findings = append(b.Findings, found.all()...)
	b.Balanced = b.Unbalanced == 0 && len(b.Unchecked) == 0 && len(b.Findings) == 0
	b.CheckedAt = s.clock()
	b.TookMS = b.CheckedAt - began
	b.Fingerprint = found.fingerprint("")
	s.gauge.note("", fault{findings: len(b.Findings)})
}

// nextTxns returns the next transaction ids in all tables. A source row with id 0 moved no money.
func nextTxns(ctx context.Context, q sqldb.Querier, after int64) ([]int64, error) {
	queries := []string{
		"SELECT id FROM txn WHERE id > ? ORDER BY id LIMIT ?",
		"SELECT DISTINCT txn_id FROM entry WHERE txn_id > ? ORDER BY txn_id LIMIT ?",
	}
	for kind, s := range sources {
		if kind != booking.KindFund {
			queries = append(queries, "SELECT DISTINCT "+s.id+" FROM "+s.rows+" WHERE "+s.id+" > ? AND "+s.id+
				" > 0 ORDER BY "+s.id+" LIMIT ?")
		}
	}
	return merged(ctx, q, queries, after, txnsAtOnce)
}

// merged returns the first limit values after a value, from several queries for one ordered column.
func merged[T cmp.Ordered](ctx context.Context, q sqldb.Querier, queries []string, after T, limit int) ([]T, error) {
	var all []T
	for _, query := range queries {
		next, err := sqldb.Column[T](ctx, q, query, after, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, next...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), limit)], nil
}

func nextAccounts(ctx context.Context, q sqldb.Querier, after string) ([]string, error) {
	return sqldb.Column[string](ctx, q,
		"SELECT account_id FROM balance WHERE account_id > ? ORDER BY account_id LIMIT ?", after, sqldb.Chunk)
}

// checkOwners finds balances whose id names no account, and escrows without a campaign. An account without a balance
// is found by its entries.
func checkOwners(ctx context.Context, q sqldb.Querier, ids []string, found *findings) error {
	var escrows []string
	for _, id := range ids {
		switch kind, owner, _ := strings.Cut(id, ":"); kind {
		case booking.KindEscrow:
			escrows = append(escrows, owner)
		case booking.KindWorld, booking.KindSponsor, booking.KindUser, booking.KindClearing, booking.KindHeld:
		default:
			found.add("a balance without an account", "there is a balance of %s, which names no account", id)
		}
	}
	campaigns, err := sqldb.Column[string](ctx, q, "SELECT id FROM campaign WHERE id IN "+sqldb.Marks(len(escrows)),
		sqldb.Args(escrows)...)
	if err != nil {
		return err
	}
	for _, owner := range escrows {
		if !slices.Contains(campaigns, owner) {
			id := booking.EscrowAccount(owner).ID()
			found.add("an escrow of no campaign", "there is an account %s, but no such campaign", id)
		}
	}
	return nil
}

func (b *Books) note(id string, r Reconciliation, err error) {
	if err != nil {
		if len(b.Unchecked) < maxListed {
			b.Unchecked = append(b.Unchecked, CampaignProblem{id, err.Error()})
		}
		return
	}
	b.Checked++
	if r.Balanced {
		return
	}
	if b.Unbalanced++; b.Unbalanced <= maxListed {
		b.Campaigns = append(b.Campaigns, CampaignBooks{id, r})
	}
	b.Difference += abs(r.Difference)
}
