package client

import (
	"context"
	"fmt"
	"net/url"

	"redrain/internal/openapi"
)

// PendingError is returned by what was not done, because it waits for a second person.
type PendingError struct{ Approval openapi.Approval }

// Error says what to do.
func (e *PendingError) Error() string {
	return fmt.Sprintf("it needs a second person: another one confirms it with redrain approval confirm %s",
		e.Approval.Approval)
}

// Approvals is a page of the orders, the newest first; state "" is every state.
func (c *Client) Approvals(ctx context.Context, state string, p Page) (List[openapi.Approval], error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	return list[openapi.Approval](ctx, c, path("approvals"), query, p)
}

// ConfirmApproval has an order carried out that another person has asked for. why may be "".
func (c *Client) ConfirmApproval(ctx context.Context, id, why string) (openapi.Approval, error) {
	return post[openapi.Approval](ctx, c, path("approvals", id, "confirm"), map[string]any{"reason": why})
}

// RejectApproval ends an order without its being carried out.
func (c *Client) RejectApproval(ctx context.Context, id, why string) (openapi.Approval, error) {
	return post[openapi.Approval](ctx, c, path("approvals", id, "reject"), map[string]any{"reason": why})
}
