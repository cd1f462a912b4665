package cli

import (
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
	return post(&c.remote, app, (*table).sponsor, openapi.Deposit{Amount: c.Amount, Reference: c.Reference},
		"sponsors", c.Sponsor, "deposits")
}

type sponsorShowCmd struct {
	Sponsor string `arg:"" help:"The sponsor's id."`
	remote
}

// Run shows a sponsor's account.
func (c *sponsorShowCmd) Run(app *App) error {
	return get(&c.remote, app, (*table).sponsor, "sponsors", c.Sponsor)
}

type sponsorListCmd struct{ remote }

// Run lists everybody who has ever deposited.
func (c *sponsorListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).sponsors, nil, "sponsors")
}

func (t *table) sponsor(s openapi.Sponsor) {
	t.row("sponsor", s.Sponsor)
	t.row("balance", s.Balance)
}

func (t *table) sponsors(all []openapi.Sponsor) {
	t.row("BALANCE", "SPONSOR")
	for _, s := range all {
		t.row(s.Balance, s.Sponsor)
	}
}
