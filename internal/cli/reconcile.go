package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/rain"
)

type reconcileCmd struct {
	Campaign string `arg:"" optional:"" help:"The campaign's id: every row of it is read. Without it every row of the ledger and of all campaigns is read, with progress on standard error."`
	Full     bool   `help:"Read every row of everything: the default without a campaign."`
	remote
}

func (c *reconcileCmd) check() (faults faultList) {
	faults.when(c.Full && c.Campaign != "", "--full: leave out the campaign; of one campaign every row is read anyway")
	return faults
}

// Run reconciles the books. It fails if a cent is missing or a row is wrong.
func (c *reconcileCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		if c.Campaign == "" {
			return c.all(ctx, app, api)
		}
		r, err := api.Reconciliation(ctx, c.Campaign)
		if err != nil {
			return err
		}
		if !r.Balanced {
			err = fmt.Errorf("the books of campaign %s do not balance: the difference is %s, %s", c.Campaign,
				r.Difference, count(len(r.Findings), "finding"))
		}
		return errors.Join(app.show(c.JSON, reconciliation(r)), err)
	})
}

func (c *reconcileCmd) all(ctx context.Context, app *App, api *client.Client) error {
	b, err := c.prove(ctx, app, api)
	switch {
	case err != nil:
		return err
	case b.Unbalanced > 0 || len(b.Findings) > 0:
		err = fmt.Errorf("the books do not balance: %s wrong, %s in the ledger itself; the differences come to %s",
			count(b.Unbalanced, "campaign"), count(len(b.Findings), "finding"), b.Difference)
	case !b.Balanced:
		err = fmt.Errorf("not every campaign could be checked, so nothing is proved; try again when Redis answers")
	}
	return errors.Join(app.show(c.JSON, books(b)), err)
}

// prove makes the server reconcile everything, and shows the progress. With --json it is a line of JSON each second, on
// a terminal one line that is redrawn, else a line each ten seconds.
func (c *reconcileCmd) prove(ctx context.Context, app *App, api *client.Client) (openapi.Books, error) {
	const sayEvery = 10 * time.Second
	live := app.terminal(app.Stderr) && !c.JSON
	told := time.Time{}
	b, err := api.ReconcileFull(ctx, func(p openapi.ProofProgress) {
		switch {
		case c.JSON:
			_ = json.NewEncoder(app.Stderr).Encode(p) // there is no other output
		case live:
			fmt.Fprint(app.Stderr, "\r"+clearLine+progressInWords(p)) //nolint:errcheck // as above
		case time.Since(told) >= sayEvery:
			told = time.Now()
			fmt.Fprintln(app.Stderr, progressInWords(p)) //nolint:errcheck // as above
		}
	})
	if live {
		fmt.Fprint(app.Stderr, "\r"+clearLine) //nolint:errcheck // as above
	}
	return b, err
}

func progressInWords(p openapi.ProofProgress) string {
	if p.LeftMS < 0 || p.Rate == 0 {
		return "reading " + p.Part
	}
	left := millis(p.LeftMS).Round(time.Second)
	return fmt.Sprintf("reading %s: %d of about %d rows, %.0f a second, %s left", p.Part, p.Done, p.Of, p.Rate, left)
}

type reconciliation client.Reconciliation

func (r reconciliation) show(t *table) {
	for _, line := range []struct {
		name   string
		amount rain.Money
	}{
		{"funded", r.Funded}, {"paid", r.Paid}, {"reclaimed", r.Reclaimed}, {"stock", r.Stock},
		{"unsettled", r.Unsettled}, {"dead letters", r.Dead}, {"difference", r.Difference},
	} {
		t.row(line.name, fmt.Sprintf("%18s", line.amount))
	}
	for _, f := range r.Findings {
		t.row("finding", f)
	}
	for _, l := range r.Letters {
		t.row("waits", l)
	}
	if r.Balanced {
		t.row("balanced", "every cent is accounted for")
	}
}

type books openapi.Books

func (b books) show(t *table) {
	t.row("checked", t.at(b.CheckedAt))
	t.row("campaigns", fmt.Sprintf("%18d", b.Checked))
	t.row("transactions", fmt.Sprintf("%18d", b.Transactions))
	t.row("accounts", fmt.Sprintf("%18d", b.Accounts))
	t.row("difference", fmt.Sprintf("%18s", b.Difference))
	for _, f := range b.Findings {
		t.row("finding", f)
	}
	for _, c := range b.Campaigns {
		t.row("campaign "+c.Campaign, fmt.Sprintf(
			"difference %s, funded %s, paid %s, reclaimed %s, stock %s, unsettled %s, dead letters %s",
			c.Difference, c.Funded, c.Paid, c.Reclaimed, c.Stock, c.Unsettled, c.Dead))
		for _, f := range c.Findings {
			t.row("campaign "+c.Campaign, f)
		}
	}
	if more := b.Unbalanced - len(b.Campaigns); more > 0 {
		t.row("campaigns", fmt.Sprintf("%d more do not balance", more))
	}
	for _, c := range b.Unchecked {
		t.row("campaign "+c.Campaign, "not checked: "+c.Reason)
	}
	for _, l := range b.Letters {
		t.row("waits", l)
	}
	if b.Balanced {
		t.row("balanced", "every cent is accounted for")
	}
}
