package api

import (
	"context"
	"net/http"
	"strings"

	"redrain/client/openapi"
	"redrain/payout/ledger"
	"redrain/rain"
)

func approvalViewOf(a ledger.Approval) openapi.Approval {
	return openapi.Approval{
		Approval: a.ID, Action: string(a.Act), Target: a.Target, Amount: a.Amount, Reference: a.Reference,
		Reason: a.Asked.Reason, AskedBy: a.Asked.Name, AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt,
		State: string(a.State), DecidedBy: a.Decided.Name, DecidedAt: a.DecidedAt, Decision: a.Decided.Reason,
	}
}

// rightTo is the right that an act needs, of both people.
var rightTo = map[ledger.Act]right{
	ledger.ActDeposit: depositing, ledger.ActRetry: judging, ledger.ActDismiss: judging, ledger.ActPaid: paying,
	ledger.ActBack: paying, ledger.ActProvider: paying,
}

// maxReason is the length limit of a person's reason, in bytes.
const maxReason = 400

// maxPayment is the length limit of a receiver's name for a payment, in bytes.
const maxPayment = 200

// person returns the caller in the ledger's form.
func (q *request) person(reason string) ledger.Person {
	return ledger.Person{Name: q.name, ID: q.operator.ID, Nameless: q.operator.Shared,
		Reason: strings.TrimSpace(reason)}
}

// pending answers that an act waits for a second person.
func pending(done ledger.Outcome) any {
	if done.Pending == nil {
		return nil
	}
	return reply{http.StatusAccepted, approvalViewOf(*done.Pending)}
}

func (a *API) approvals(q *request) (any, error) {
	state := ledger.ApprovalState(q.query("state"))
	switch state {
	case "", ledger.ApprovalPending, ledger.ApprovalConfirmed, ledger.ApprovalRejected, ledger.ApprovalExpired:
	default:
		return nil, invalid("state", "is pending, confirmed, rejected or expired")
	}
	return listed(q, func(ctx context.Context, cursor string, limit int) ([]ledger.Approval, string, error) {
		return a.o.Approvals.ListApprovals(ctx, state, cursor, limit)
	}, approvalViewOf)
}

func (a *API) approval(q *request) (any, error) {
	return as(approvalViewOf)(a.o.Approvals.Approval(q.Context(), q.id()))
}

// confirmApproval executes the ordered act after the second person's confirmation, and notifies the parties.
func (a *API) confirmApproval(q *request) (any, error) {
	by, err := a.decides(q, false)
	if err != nil {
		return nil, err
	}
	order, done, err := a.o.Approvals.Confirm(q.audited("approval.confirm", nil), q.id(), by)
	if err != nil {
		return nil, notDismissed(err, done.Dismissed)
	}
	a.notify(q.Context(), order.Deed, done)
	return approvalViewOf(order), nil
}

// rejectApproval ends an order without executing it.
func (a *API) rejectApproval(q *request) (any, error) {
	by, err := a.decides(q, true)
	if err != nil {
		return nil, err
	}
	return as(approvalViewOf)(a.o.Approvals.Reject(q.audited("approval.reject", detail{"reason": by.Reason}), q.id(),
		by))
}

// decides reads the second person's decision. This person also needs the right to the act itself.
func (a *API) decides(q *request, why bool) (by ledger.Person, err error) {
	reason, _, err := readReason(q, why)
	if err != nil {
		return by, err
	}
	order, err := a.o.Approvals.Approval(q.Context(), q.id())
	if err != nil {
		return by, err
	}
	if need := rightTo[order.Act]; !q.may(need) {
		return by, a.refuseRight(q, need)
	}
	return q.person(reason), nil
}

// readReason reads a person's reason, and the receiver's name for a payment if there is one.
func readReason(q *request, needed bool) (reason, reference string, err error) {
	in, err := bodyOf(q, openapi.WithdrawalOrder{})
	if err != nil {
		return "", "", err
	}
	var wrong faults
	if needed || in.Reason != "" {
		wrong.checkErr(rain.CheckText(in.Reason, maxReason), "reason", "")
	}
	if in.Reference != "" {
		wrong.checkErr(rain.CheckText(in.Reference, maxPayment), "reference", "")
	}
	return in.Reason, in.Reference, wrong.err()
}

// notify notifies the player or the payer of an executed act.
func (a *API) notify(ctx context.Context, d ledger.Deed, done ledger.Outcome) {
	switch d.Act {
	case ledger.ActRetry:
		a.o.Notifier.Retried(ctx, done.Settled)
		a.o.WakePayer()
	case ledger.ActPaid, ledger.ActBack:
		a.o.TellWithdrawn(d.Target)
	case ledger.ActProvider: // withdrawals have waited for it
		a.o.WakePayer()
	case ledger.ActDeposit, ledger.ActDismiss:
	}
}
