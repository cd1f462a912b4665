package reconcile

import "redrain/rain"

// maxListed is the largest number of listed campaigns.
const maxListed = 500

// CampaignProved is called after each campaign, unless it is nil. ErrLiveState: Redis could not be read.
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

// note adds the result of a campaign.
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
