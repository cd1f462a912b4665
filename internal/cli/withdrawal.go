package cli

import (
	"cmp"
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
	return get(&c.remote, app, (*table).withdrawal, "withdrawals", c.Withdrawal)
}

// withdrawalOrderCmd is hold, release and back.
type withdrawalOrderCmd struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
	Reason     string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

// Run does something with a withdrawal.
func (c *withdrawalOrderCmd) Run(app *App) error { return c.give(app, "") }

func (c *withdrawalOrderCmd) give(app *App, reference string) error {
	return post(&c.remote, app, (*table).withdrawalHead, openapi.WithdrawalOrder{Reason: c.Reason, Reference: reference},
		"withdrawals", c.Withdrawal, app.verb)
}

type withdrawalPaidCmd struct {
	Reference string `placeholder:"REF" help:"The provider's name for the payment."`
	withdrawalOrderCmd
}

// Run marks a dead letter as paid.
func (c *withdrawalPaidCmd) Run(app *App) error { return c.give(app, c.Reference) }

func (t *table) withdrawalHead(w client.Withdrawal) {
	t.row("withdrawal", w.ID)
	t.row("amount", w.Amount)
	t.row("user", w.User)
	t.row("stage", w.Stage)
}

func (t *table) withdrawal(w client.Withdrawal) {
	t.withdrawalHead(w)
	t.some("receiver", w.Receiver)
	t.some("reference", w.Reference)
	t.some("reason", cmp.Or(w.Reason, w.LastError))
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
}
