package cli

import (
	"context"
	"errors"

	"redrain/client"
	"redrain/internal/openapi"
)

type approvalListCmd struct {
	All bool `help:"Those that wait for nobody any more, too."`
	remote
}

// Run lists the orders that wait for a second person, page by page.
func (c *approvalListCmd) Run(app *App) error {
	state := "pending"
	if c.All {
		state = ""
	}
	return c.talk(func(ctx context.Context, api *client.Client) error {
		read := func(ctx context.Context, p client.Page) (client.List[openapi.Approval], error) {
			return api.Approvals(ctx, state, p)
		}
		orders := []openapi.Approval{}
		for one, err := range client.All(ctx, read) {
			if err != nil {
				return err
			}
			orders = append(orders, one)
		}
		return c.show(app, orders, func(t *table) {
			t.row("ORDER", "STATE", "ACTION", "TARGET", "AMOUNT", "ASKED BY", "UNTIL", "REASON")
			for _, o := range orders {
				t.row(o.Approval, o.State, o.Action, o.Target, o.Amount, o.AskedBy, t.at(o.ExpiresAt), o.Reason)
			}
		})
	})
}

type approvalConfirmCmd struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `placeholder:"WHY" help:"What you have looked at. The audit log keeps it."`
	remote
}

// Run confirms what another person has asked for.
func (c *approvalConfirmCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		o, err := api.ConfirmApproval(ctx, c.Order, c.Reason)
		if err != nil {
			return err
		}
		return c.show(app, o, func(t *table) { t.approval(o) })
	})
}

type approvalRejectCmd struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. It is kept with the order."`
	remote
}

// Run rejects what somebody has asked for.
func (c *approvalRejectCmd) Run(app *App) error {
	return c.talk(func(ctx context.Context, api *client.Client) error {
		o, err := api.RejectApproval(ctx, c.Order, c.Reason)
		if err != nil {
			return err
		}
		return c.show(app, o, func(t *table) { t.approval(o) })
	})
}

// waits shows the order where a command's answer is that it needs a second person. Any other error it returns.
func (r *remote) waits(app *App, err error) error {
	if pending, ok := errors.AsType[*client.PendingError](err); ok {
		return r.show(app, pending.Approval, func(t *table) { t.approval(pending.Approval) })
	}
	return err
}

func (t *table) approval(o openapi.Approval) {
	t.row("order", o.Approval)
	t.row("action", o.Action)
	t.row("target", o.Target)
	t.row("amount", o.Amount)
	if o.Reference != "" {
		t.row("reference", o.Reference)
	}
	t.row("asked by", o.AskedBy)
	t.row("state", o.State)
	if o.DecidedBy != "" {
		t.row("decided by", o.DecidedBy)
	}
	if o.State == "pending" {
		t.row("to do", "another person, until "+t.at(o.ExpiresAt)+": redrain approval confirm "+o.Approval)
	}
}
