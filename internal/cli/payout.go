package cli

import (
	"context"

	"redrain/client"
)

type payoutListCmd struct{ remote }

// Run lists every payout that waits for a person, page by page.
func (c *payoutListCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		letters := []client.DeadLetter{}
		for one, err := range client.All(ctx, api.DeadPayouts) {
			if err != nil {
				return err
			}
			letters = append(letters, one)
		}
		return c.show(app, letters, func(t *table) {
			t.row("CLAIM", "LETTER", "KIND", "AMOUNT", "SINCE", "USER", "REASON")
			for _, one := range letters {
				t.row(one.Claim, one.Letter, one.Kind, one.Amount, t.at(one.CreatedAt), one.User, one.Reason)
			}
		})
	})
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
	return c.talk(func(ctx context.Context, api *client.Client) error {
		if c.All {
			return c.all(ctx, app, api)
		}
		claim, err := api.RetryPayout(ctx, c.Claim)
		if err != nil {
			return c.waits(app, err)
		}
		return c.show(app, claim, func(t *table) {
			t.row("claim", claim.Claim)
			t.row("state", stateAfterRetry(claim.State))
			if claim.User != "" { // a reclaim has no user
				t.row("amount", claim.Amount)
				t.row("user", claim.User)
			}
		})
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
	return c.talk(func(ctx context.Context, api *client.Client) error {
		done, err := api.DismissPayout(ctx, c.Claim, c.Letter, c.Reason)
		if err != nil {
			return c.waits(app, err)
		}
		return c.show(app, done, func(t *table) {
			t.row("claim", done.Claim)
			t.row("dismissed", count(done.Dismissed, "letter"))
			if done.Reclaimed > 0 {
				t.row("back to the sponsor", done.Reclaimed)
			}
			for _, why := range done.Kept {
				t.row("kept", why)
			}
		})
	})
}

// stateAfterRetry is a state in words. The API calls a withdrawal "failed" both while it waits for its next try and
// after it has failed for good; after a retry it is the former.
func stateAfterRetry(state string) string {
	if state == client.ClaimFailed {
		return "tried again soon"
	}
	return state
}

func (c *payoutRetryCmd) all(ctx context.Context, app *App, api *client.Client) error {
	done, err := api.RetryPayouts(ctx, c.Campaign)
	if err != nil {
		return err
	}
	return c.show(app, done, func(t *table) {
		t.row("retried", done.Retried)
		t.row("settled, or tried again soon", done.Settled)
		t.row("still dead", done.StillDead)
		if done.NeedTwo > 0 {
			t.row("need a second person", done.NeedTwo, "retry each by its claim")
		}
		if !done.Complete {
			t.row("not all were judged in time: run it again")
		}
	})
}
