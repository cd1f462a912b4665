package cli

import (
	"context"

	"redrain/client"
	"redrain/internal/openapi"
	"redrain/rain"
)

type sponsorDepositCmd struct {
	Sponsor   string     `arg:"" help:"The sponsor's id. The first deposit opens the account."`
	Amount    rain.Money `placeholder:"FEN" help:"In minor units (1/100 yuan). Required."`
	Reference string     `placeholder:"REF" help:"What names this deposit once and for all, as the bank's statement does: the same reference adds nothing a second time. Required."`
	remote
}

func (c *sponsorDepositCmd) check() []string {
	faults := c.remote.check()
	if c.Amount <= 0 {
		faults = append(faults, "--amount: required, 1 or more")
	}
	if c.Reference == "" {
		faults = append(faults, "--reference: required")
	}
	return faults
}

// Run adds money to a sponsor's account, once for each reference.
func (c *sponsorDepositCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		account, err := api.Deposit(ctx, c.Sponsor, c.Reference, c.Amount)
		if err != nil {
			return c.waits(app, err)
		}
		return c.show(app, account, func(t *table) { t.sponsor(account) })
	})
}

type sponsorShowCmd struct {
	Sponsor string `arg:"" help:"The sponsor's id."`
	remote
}

// Run shows a sponsor's account.
func (c *sponsorShowCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		account, err := api.Sponsor(ctx, c.Sponsor)
		if err != nil {
			return err
		}
		return c.show(app, account, func(t *table) { t.sponsor(account) })
	})
}

func (t *table) sponsor(s openapi.Sponsor) {
	t.row("sponsor", s.Sponsor)
	t.row("balance", s.Balance)
}

type sponsorListCmd struct{ remote }

// Run lists everybody who has ever deposited, page by page.
func (c *sponsorListCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		sponsors := []openapi.Sponsor{}
		for one, err := range client.All(ctx, api.Sponsors) {
			if err != nil {
				return err
			}
			sponsors = append(sponsors, one)
		}
		return c.show(app, sponsors, func(t *table) {
			t.row("BALANCE", "SPONSOR")
			for _, one := range sponsors {
				t.row(one.Balance, one.Sponsor)
			}
		})
	})
}
