package cli

import (
	"context"
	"net/url"

	"redrain/client"
	"redrain/internal/openapi"
)

type payoutListCmd struct{ remote }

// Run lists every payout that waits for a person.
func (c *payoutListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).deadLetters, url.Values{"state": {client.ClaimDead}}, "payouts")
}

type payoutRetryCmd struct {
	Claim    string `arg:"" optional:"" help:"The claim, as payout list shows it."`
	All      bool   `help:"Every dead payout instead of one."`
	Campaign string `placeholder:"CAMPAIGN" help:"With --all: those of one campaign."`
	remote
}

func (c *payoutRetryCmd) check() []string {
	faults := c.remote.check()
	if (c.Claim != "") == c.All {
		faults = append(faults, "give a claim, or --all")
	}
	if c.Campaign != "" && !c.All {
		faults = append(faults, "--campaign: goes with --all")
	}
	return faults
}

// Run retries one dead payout or all of them. One that stays dead is an error; of all, those that stay dead are
// counted.
func (c *payoutRetryCmd) Run(app *App) error {
	if !c.All {
		return post(&c.remote, app, (*table).retried, nil, "payouts", c.Claim, "retry")
	}
	return ask(&c.remote, app, (*table).allRetried, func(ctx context.Context, api *client.Client) (client.Retried, error) {
		return api.RetryPayouts(ctx, c.Campaign)
	})
}

type payoutDismissCmd struct {
	Claim  string `arg:"" help:"The claim, as payout list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why it is nobody's. The audit log keeps it."`
	Letter string `placeholder:"LETTER" help:"Only this one of several letters of the claim, as payout list shows it."`
	remote
}

// Run ends dead letters that are nobody's.
func (c *payoutDismissCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).dismissed,
		openapi.DismissPayoutJSONBody{Reason: c.Reason, Letter: c.Letter}, "payouts", c.Claim, "dismiss")
}

func (t *table) deadLetters(all []client.DeadLetter) {
	t.row("CLAIM", "LETTER", "KIND", "AMOUNT", "SINCE", "USER", "REASON")
	for _, one := range all {
		t.row(one.Claim, one.Letter, one.Kind, one.Amount, t.at(one.CreatedAt), one.User, one.Reason)
	}
}

// retried shows one payout. The API calls a withdrawal "failed" both while it waits for its next try and after it has
// failed for good; after a retry it is the former.
func (t *table) retried(claim client.Claim) {
	if claim.State == client.ClaimFailed {
		claim.State = "tried again soon"
	}
	t.row("claim", claim.Claim)
	t.row("state", claim.State)
	if claim.User != "" { // a reclaim has no user
		t.row("amount", claim.Amount)
		t.row("user", claim.User)
	}
}

func (t *table) allRetried(done client.Retried) {
	t.row("retried", done.Retried)
	t.row("settled, or tried again soon", done.Settled)
	t.row("still dead", done.StillDead)
	if done.NeedTwo > 0 {
		t.row("need a second person", done.NeedTwo, "retry each by its claim")
	}
	if !done.Complete {
		t.row("not all were judged in time: run it again")
	}
}

func (t *table) dismissed(done openapi.Dismissed) {
	t.row("claim", done.Claim)
	t.row("dismissed", count(done.Dismissed, "letter"))
	if done.Reclaimed > 0 {
		t.row("back to the sponsor", done.Reclaimed)
	}
	for _, why := range done.Kept {
		t.row("kept", why)
	}
}
