package client

import (
	"context"
	"net/url"
	"time"

	"redrain/internal/openapi"
)

// Turn asks for the turn of the player whose token the client has. The place is kept for who asks again in time.
func (c *Client) Turn(ctx context.Context, campaign string) (openapi.Admission, error) {
	return call[openapi.Admission](ctx, c, request{method: "GET", path: path("admission"),
		query: url.Values{"campaign": {campaign}}})
}

// RetryAfter is when a refused request may be repeated, as the answer says; 0 where it says nothing.
func (e *Error) RetryAfter() time.Duration { return e.after }
