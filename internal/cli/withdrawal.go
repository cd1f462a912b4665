package cli

import (
	"cmp"
	"context"
	"fmt"

	"redrain/client"
	"redrain/internal/openapi"
)

type withdrawalShowCmd struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
	remote
}

// Run shows what has become of a withdrawal.
func (c *withdrawalShowCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		w, err := api.Withdrawal(ctx, c.Withdrawal)
		if err != nil {
			return err
		}
		return c.show(app, w, func(t *table) {
			t.row("withdrawal", w.ID)
			t.row("amount", w.Amount)
			t.row("user", w.User)
			t.row("stage", w.Stage)
			for _, one := range [][2]string{{"receiver", w.Receiver}, {"reference", w.Reference},
				{"reason", cmp.Or(w.Reason, w.LastError)}} {
				if one[1] != "" {
					t.row(one[0], one[1])
				}
			}
			if w.Dead {
				t.row("dead", "it is not tried any more; withdrawal paid, withdrawal back or payout retry end that")
			}
			if o := w.Order; o != nil {
				t.row("order", fmt.Sprintf("%s, asked for by %s at %s: %s", o.What, o.By, t.at(o.AskedAt), o.Reason))
				t.row("", "another person confirms it, until "+t.at(o.Until)+": redrain approval confirm "+o.Approval)
			}
			for _, e := range w.History {
				t.row(t.at(e.At), fmt.Sprintf("%s  %s  %s", e.Stage, e.Actor, e.Reason))
			}
		})
	})
}

// withdrawalOrder is what the commands on a withdrawal have in common.
type withdrawalOrder struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
	Reason     string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

func (c *withdrawalOrder) give(app *App, order, reference string) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		w, err := api.OrderWithdrawal(ctx, c.Withdrawal, order,
			openapi.WithdrawalOrder{Reason: c.Reason, Reference: reference})
		if err != nil {
			return c.waits(app, err)
		}
		return c.show(app, w, func(t *table) {
			t.row("withdrawal", w.ID)
			t.row("amount", w.Amount)
			t.row("user", w.User)
			t.row("stage", w.Stage)
		})
	})
}

type withdrawalHoldCmd struct{ withdrawalOrder }

// Run holds a withdrawal.
func (c *withdrawalHoldCmd) Run(app *App) error { return c.give(app, "hold", "") }

type withdrawalReleaseCmd struct{ withdrawalOrder }

// Run releases one that is held.
func (c *withdrawalReleaseCmd) Run(app *App) error { return c.give(app, "release", "") }

type withdrawalPaidCmd struct {
	Reference string `placeholder:"REF" help:"The provider's name for the payment."`
	withdrawalOrder
}

// Run marks a dead letter as paid.
func (c *withdrawalPaidCmd) Run(app *App) error { return c.give(app, "paid", c.Reference) }

type withdrawalBackCmd struct{ withdrawalOrder }

// Run gives a withdrawal's money back to its player.
func (c *withdrawalBackCmd) Run(app *App) error { return c.give(app, "back", "") }
