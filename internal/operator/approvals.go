package operator

import (
	"context"
	"fmt"
	"net/url"

	"redrain/rain"
)

// Approval is an order that two people give together.
type Approval struct {
	Approval  string     `json:"approval"`
	Action    string     `json:"action"` // deposit, payout.retry, payout.dismiss, withdrawal.paid or .back, or provider
	Target    string     `json:"target"` // the sponsor, the claim, the withdrawal, or the receiver
	Amount    rain.Money `json:"amount"`
	Reference string     `json:"reference"`
	Reason    string     `json:"reason"`
	AskedBy   string     `json:"asked_by"`
	AskedAt   int64      `json:"asked_at"`
	ExpiresAt int64      `json:"expires_at"`
	State     string     `json:"state"` // pending, confirmed, rejected or expired
	DecidedBy string     `json:"decided_by"`
	DecidedAt int64      `json:"decided_at"`
	Decision  string     `json:"decision"` // what the second person says
}

// PendingError is returned by what was not done, because it waits for a second person.
type PendingError struct{ Approval Approval }

// Error says what to do.
func (e *PendingError) Error() string {
	return fmt.Sprintf("it needs a second person: another one confirms it with redrain approval confirm %s",
		e.Approval.Approval)
}

// Approvals is a page of the orders, the newest first; state "" is every state.
func (c *Client) Approvals(ctx context.Context, state string, p Page) (List[Approval], error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	return list[Approval](ctx, c, path("approvals"), query, p)
}

// ConfirmApproval has an order carried out that another person has asked for. why may be "".
func (c *Client) ConfirmApproval(ctx context.Context, id, why string) (Approval, error) {
	return post[Approval](ctx, c, path("approvals", id, "confirm"), map[string]any{"reason": why})
}

// RejectApproval ends an order without its being carried out.
func (c *Client) RejectApproval(ctx context.Context, id, why string) (Approval, error) {
	return post[Approval](ctx, c, path("approvals", id, "reject"), map[string]any{"reason": why})
}
