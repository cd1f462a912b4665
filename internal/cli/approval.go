package cli

import (
	"net/url"

	"redrain/internal/openapi"
)

type approvalListCmd struct {
	All bool `help:"Those that wait for nobody any more, too."`
	remote
}

// Run lists the orders that wait for a second person.
func (c *approvalListCmd) Run(app *App) error {
	query := url.Values{"state": {"pending"}}
	if c.All {
		query = nil
	}
	return list(&c.remote, app, (*table).approvals, query, "approvals")
}

type approvalConfirmCmd struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `placeholder:"WHY" help:"What you have looked at. The audit log keeps it."`
	remote
}

// Run confirms what another person has asked for.
func (c *approvalConfirmCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).approval, openapi.ConfirmApprovalJSONBody{Reason: c.Reason},
		"approvals", c.Order, "confirm")
}

type approvalRejectCmd struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. It is kept with the order."`
	remote
}

// Run rejects what somebody has asked for.
func (c *approvalRejectCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).approval, openapi.RejectApprovalJSONBody{Reason: c.Reason},
		"approvals", c.Order, "reject")
}

func (t *table) approvals(all []openapi.Approval) {
	t.row("ORDER", "STATE", "ACTION", "TARGET", "AMOUNT", "ASKED BY", "UNTIL", "REASON")
	for _, o := range all {
		t.row(o.Approval, o.State, o.Action, o.Target, o.Amount, o.AskedBy, t.at(o.ExpiresAt), o.Reason)
	}
}

func (t *table) approval(o openapi.Approval) {
	t.row("order", o.Approval)
	t.row("action", o.Action)
	t.row("target", o.Target)
	t.row("amount", o.Amount)
	t.some("reference", o.Reference)
	t.row("asked by", o.AskedBy)
	t.row("state", o.State)
	t.some("decided by", o.DecidedBy)
	if o.State == "pending" {
		t.row("to do", "another person, until "+t.at(o.ExpiresAt)+": redrain approval confirm "+o.Approval)
	}
}
