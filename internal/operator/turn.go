package operator

import (
	"context"
	"net/url"
	"time"
)

// Turn is a player's turn in the waiting room of a campaign.
type Turn struct {
	Admitted     bool  `json:"admitted"`
	Position     int   `json:"position"` // from 1
	RetryAfterMS int64 `json:"retry_after_ms"`
}

// Turn asks for the turn of the player whose token the client has. The place is kept for who asks again in time.
func (c *Client) Turn(ctx context.Context, campaign string) (Turn, error) {
	return call[Turn](ctx, c, request{method: "GET", path: path("admission"),
		query: url.Values{"campaign": {campaign}}})
}

// RetryAfter is when a refused request may be repeated, as the answer says; 0 where it says nothing.
func (e *Error) RetryAfter() time.Duration { return e.after }
