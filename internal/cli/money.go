package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/rain"
)

// amountForms are the texts of an amount, for the help.
const amountForms = "yuan, such as 12.50, or fen, such as 1250fen"

// amountSyntax has yuan or fen, the two decimals of yuan, and the unit of fen.
var amountSyntax = regexp.MustCompile(`^(\d{1,15})(?:\.(\d{1,2})|(fen))?$`)

// parseAmount parses an amount of money. A number without a unit is in yuan.
func parseAmount(text string) (rain.Money, error) {
	parts := amountSyntax.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not an amount: give %s", text, amountForms)
	}
	digits, decimals, unit := parts[1], parts[2], parts[3]
	if unit == "" {
		digits += (decimals + "00")[:2]
	}
	fen, err := strconv.ParseInt(digits, 10, 64)
	return rain.Money(fen), err
}

type oneSponsor struct {
	Sponsor string `arg:"" help:"The sponsor's id."`
}

type newDeposit struct {
	Sponsor   string     `arg:"" help:"The sponsor's id. The first deposit opens the account."`
	Amount    rain.Money `need:"" placeholder:"AMOUNT" help:"What is deposited: ${amount}. Required."`
	Reference string     `need:"" placeholder:"REF" help:"Unique name of this deposit, as in the bank's statement: the same reference adds nothing a second time. Required."`
}

type sponsor openapi.Sponsor

func (s sponsor) show(t *table) {
	t.row("sponsor", s.Sponsor)
	t.row("balance", s.Balance)
}

func (s sponsor) columns(*table) (string, []any) {
	return "BALANCE,SPONSOR", []any{s.Balance, s.Sponsor}
}

type payoutRetryCmd struct {
	Claim    string `arg:"" optional:"" help:"The claim, as payout list shows it."`
	All      bool   `help:"All dead payouts instead of one."`
	Campaign string `placeholder:"CAMPAIGN" help:"With --all: those of one campaign."`
	remote
}

func (c *payoutRetryCmd) check() (faults faultList) {
	faults.when((c.Claim != "") == c.All, "give a claim, or --all")
	faults.when(c.Campaign != "" && !c.All, "--campaign: goes with --all")
	return faults
}

// Run retries one dead payout or all of them. A single payout that stays dead is an error; of all, they are counted.
func (c *payoutRetryCmd) Run(app *App) error {
	if c.All {
		return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (allRetried, error) {
			done, err := api.RetryPayouts(ctx, c.Campaign)
			return allRetried(done), err
		})
	}
	return ask(&c.remote, app, func(ctx context.Context, api *client.Client) (retried, error) {
		return client.Post[retried](ctx, api, nil, "payouts", c.Claim, "retry")
	})
}

type payoutDismissal struct {
	Claim  string `arg:"" help:"The claim, as payout list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why no player or sponsor has a right to it. The audit log keeps the reason."`
	Letter string `placeholder:"LETTER" help:"Only this one of several dead letters of the claim, as payout list shows it."`
}

type deadLetter client.DeadLetter

func (l deadLetter) columns(t *table) (string, []any) {
	return "CLAIM,LETTER,KIND,AMOUNT,SINCE,USER,REASON",
		[]any{l.Claim, l.Letter, l.Kind, l.Amount, t.at(l.CreatedAt), l.User, l.Reason}
}

// retried is one payout. In the API a withdrawal is "failed" while it waits for its next try, and after its final
// failure. After a retry it waits.
type retried client.Claim

func (claim retried) show(t *table) {
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

type allRetried client.Retried

func (done allRetried) show(t *table) {
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

type dismissed openapi.Dismissed

func (done dismissed) show(t *table) {
	t.row("claim", done.Claim)
	t.row("dismissed", count(done.Dismissed, "letter"))
	some(t, "back to the sponsor", done.Reclaimed)
	for _, why := range done.Kept {
		t.row("kept", why)
	}
}

type oneWithdrawal struct {
	Withdrawal string `arg:"" help:"The withdrawal, as payout list and the console show it."`
}

// withdrawalOrder has the settings of hold, release and back.
type withdrawalOrder struct {
	oneWithdrawal
	Reason string `required:"true" placeholder:"WHY" help:"Why. The history keeps it."`
}

type withdrawalPaid struct {
	Reference string `placeholder:"REF" help:"The provider's name for the payment."`
	withdrawalOrder
}

// withdrawalHead is the answer to an order.
type withdrawalHead client.Withdrawal

func (w withdrawalHead) show(t *table) {
	t.row("withdrawal", w.ID)
	t.row("amount", w.Amount)
	t.row("user", w.User)
	t.row("stage", w.Stage)
}

type withdrawal client.Withdrawal

func (w withdrawal) show(t *table) {
	withdrawalHead(w).show(t)
	some(t, "receiver", w.Receiver)
	some(t, "reference", w.Reference)
	some(t, "reason", cmp.Or(w.Reason, w.LastError))
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
	return showList[approval](&c.remote, app, query, "approvals")
}

type approvalConfirmation struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `placeholder:"WHY" help:"Your checks. The audit log keeps the text."`
}

type approvalRejection struct {
	Order  string `arg:"" help:"The order, as approval list shows it."`
	Reason string `required:"true" placeholder:"WHY" help:"Why. It is kept with the order."`
}

type approval openapi.Approval

func (o approval) columns(t *table) (string, []any) {
	return "ORDER,STATE,ACTION,TARGET,AMOUNT,ASKED BY,UNTIL,REASON",
		[]any{o.Approval, o.State, o.Action, o.Target, o.Amount, o.AskedBy, t.at(o.ExpiresAt), o.Reason}
}

func (o approval) show(t *table) {
	t.row("order", o.Approval)
	t.row("action", o.Action)
	t.row("target", o.Target)
	t.row("amount", o.Amount)
	some(t, "reference", o.Reference)
	t.row("asked by", o.AskedBy)
	t.row("state", o.State)
	some(t, "decided by", o.DecidedBy)
	if o.State == "pending" {
		t.row("to do", "another person, until "+t.at(o.ExpiresAt)+": redrain approval confirm "+o.Approval)
	}
}
