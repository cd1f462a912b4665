package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
)

// providerEvery is the interval at which an expired order is replaced, and a failed start retried.
const providerEvery = 10 * time.Second

// providerStart asks for the confirmation of this node's receiver of withdrawals. Until then the ledger gives this node
// no new withdrawals.
type providerStart struct {
	approvals *ledger.Approvals
	receiver  string
	named     bool // there are operators with names, who can confirm it
	alarm     func(code, campaign, message string)
	recoverer *loop.Recoverer
	log       *slog.Logger

	done  bool   // it was confirmed; if another is confirmed later, this node does not ask again
	order string // the order that waits, or was rejected
}

func (p *providerStart) run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "provider", Work: "confirm the receiver of withdrawals",
		Every: providerEvery, Do: p.look, Recoverer: p.recoverer, Log: p.log})
}

// look orders the receiver at the start, and again if the order has expired. If the order was rejected, only the next
// start orders it again.
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
			"sent to it until a person with the right to pay confirms it; if this is a mistake, set the old one "+
			"again and reject the order", "order", p.order, "receiver", p.receiver, "confirmed", start.Before,
			"do", "redrain approval confirm "+p.order)
		p.alarm("provider_changed", "", "withdrawals are to be sent to "+p.receiver+" instead of "+start.Before+
			"; they wait until a person confirms it: redrain approval confirm "+p.order)
		return nil
	case start.Before != "":
		p.log.Warn("new withdrawals are sent to another receiver from now on, without a confirmation, because no "+
			"operator has a name", "receiver", p.receiver, "before", start.Before)
		p.alarm("provider_changed", "", "withdrawals are sent to "+p.receiver+" instead of "+start.Before+
			" from now on; if this is a mistake, restart with the old one")
	}
	p.done = true
	return nil
}
