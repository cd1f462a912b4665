package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"redrain/client"
	"redrain/internal/openapi"
	"redrain/rain"
)

type sponsorDepositCmd struct {
	Sponsor   string     `arg:"" help:"The sponsor's id. The first deposit opens the account."`
	Amount    rain.Money `placeholder:"FEN" help:"In minor units (1/100 yuan). Required."`
	Reference string     `placeholder:"REF" help:"Unique name of this deposit, as in the bank's statement: the same reference adds nothing a second time. Required."`
	remote
}

func (c *sponsorDepositCmd) check() []string {
	faults := faultList(c.remote.check())
	faults.when(c.Amount <= 0, "--amount: required, 1 or more")
	faults.when(c.Reference == "", "--reference: required")
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

// Run lists the sponsors.
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

type payoutListCmd struct{ remote }

// Run lists the payouts that wait for a person.
func (c *payoutListCmd) Run(app *App) error {
	return list(&c.remote, app, (*table).deadLetters, url.Values{"state": {client.ClaimDead}}, "payouts")
}

type payoutRetryCmd struct {
	Claim    string `arg:"" optional:"" help:"The claim, as payout list shows it."`
	All      bool   `help:"All dead payouts instead of one."`
	Campaign string `placeholder:"CAMPAIGN" help:"With --all: those of one campaign."`
	remote
}

func (c *payoutRetryCmd) check() []string {
	faults := faultList(c.remote.check())
	faults.when((c.Claim != "") == c.All, "give a claim, or --all")
	faults.when(c.Campaign != "" && !c.All, "--campaign: goes with --all")
	return faults
}

// Run retries one dead payout or all of them. If one stays dead, that is an error; with all, it counts those that stay
// dead.
func (c *payoutRetryCmd) Run(app *App) error {
	if !c.All {
		return post(&c.remote, app, (*table).retried, nil, "payouts", c.Claim, "retry")
	}
	return ask(&c.remote, app, (*table).allRetried, func(ctx context.Context, api *client.Client) (client.Retried,
		error) {
		return api.RetryPayouts(ctx, c.Campaign)
	})
}

type payoutDismissCmd struct {
	Claim  string `arg:"" help:"The claim, as payout list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why no player or sponsor has a right to it. The audit log keeps the reason."`
	Letter string `placeholder:"LETTER" help:"Only this one of several dead letters of the claim, as payout list shows it."`
	remote
}

// Run ends dead letters that no player or sponsor has a right to.
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

// retried shows one payout. In the API a withdrawal is "failed" while it waits for its next try, and after its final
// failure. After a retry it waits.
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

type withdrawalShowCmd struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
	remote
}

// Run shows a withdrawal with its history.
func (c *withdrawalShowCmd) Run(app *App) error {
	return get(&c.remote, app, (*table).withdrawal, "withdrawals", c.Withdrawal)
}

// withdrawalOrderCmd implements hold, release and back.
type withdrawalOrderCmd struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
	Reason     string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
	remote
}

// Run holds, releases or returns a withdrawal.
func (c *withdrawalOrderCmd) Run(app *App) error { return c.give(app, "") }

func (c *withdrawalOrderCmd) give(app *App, reference string) error {
	order := openapi.WithdrawalOrder{Reason: c.Reason, Reference: reference}
	return post(&c.remote, app, (*table).withdrawalHead, order, "withdrawals", c.Withdrawal, app.verb)
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

type approvalListCmd struct {
	All bool `help:"Also decided and expired orders."`
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
	Reason string `placeholder:"WHY" help:"Your checks. The audit log keeps the text."`
	remote
}

// Run confirms the order of another person.
func (c *approvalConfirmCmd) Run(app *App) error {
	return post(&c.remote, app, (*table).approval, openapi.ConfirmApprovalJSONBody{Reason: c.Reason},
		"approvals", c.Order, "confirm")
}

type approvalRejectCmd struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. It is kept with the order."`
	remote
}

// Run rejects an order.
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
