package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
)

// providerEvery is how often it is looked whether an order is too old to be confirmed, and a start that failed is made
// up for.
const providerEvery = 10 * time.Second

// providerStart has the receiver of withdrawals confirmed that this node was started with. Until it is, the ledger
// gives this node none that nobody was asked for.
type providerStart struct {
	approvals *ledger.Approvals
	receiver  string
	named     bool // there are operators with names, so somebody can confirm it
	alarm     func(code, campaign, message string)
	recoverer *loop.Recoverer
	log       *slog.Logger

	done  bool   // it was confirmed; if another is confirmed later, this node asks for nothing
	order string // that waits, or was rejected
}

func (p *providerStart) run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "provider", Work: "having the receiver of withdrawals confirmed",
		Every: providerEvery, Do: p.look, Recoverer: p.recoverer, Log: p.log})
}

// look asks for the receiver at the start, and again when the order has become too old. One that was rejected is asked
// for again by the next start.
func (p *providerStart) look(ctx context.Context) error {
	if p.done {
		return nil
	}
	if p.order != "" {
		a, err := p.approvals.Approval(ctx, p.order)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrUnknownApproval):
			return err
		case err == nil && a.State != ledger.ApprovalExpired:
			p.done = a.State == ledger.ApprovalConfirmed
			return nil
		}
	}
	start, err := p.approvals.StartProvider(ctx, p.receiver, p.named)
	switch {
	case err != nil:
		return err
	case start.Pending != nil:
		p.order = start.Pending.ID
		p.log.Warn("this node has another receiver of withdrawals than the one that is confirmed: nothing new is "+
			"sent to it until a person with the right to pay confirms it; if nobody meant this, set the old one "+
			"again and reject the order", "order", p.order, "receiver", p.receiver, "confirmed", start.Before,
			"do", "redrain approval confirm "+p.order)
		p.alarm("provider_changed", "", "withdrawals are to be sent to "+p.receiver+" instead of "+start.Before+
			"; they wait until somebody confirms it: redrain approval confirm "+p.order)
		return nil
	case start.Before != "":
		p.log.Warn("new withdrawals are sent to another receiver from now on; nobody had to confirm it, as no "+
			"operator has a name of their own", "receiver", p.receiver, "before", start.Before)
		p.alarm("provider_changed", "", "withdrawals are sent to "+p.receiver+" instead of "+start.Before+
			" from now on; if nobody meant this, restart with the old one")
	}
	p.done = true
	return nil
}
