package client

import (
	"context"
	"net/url"
)

// HeldWins is a page of the wins that wait for somebody, the oldest first.
func (c *Client) HeldWins(ctx context.Context, p Page) (List[HeldWin], error) {
	return list[HeldWin](ctx, c, path("risk", "held"), url.Values{"state": {"held"}}, p)
}

// ReleasePlayers lets players take part again, whatever the risk rules say of them.
func (c *Client) ReleasePlayers(ctx context.Context, users []string, reason string) error {
	_, err := post[List[HeldWin]](ctx, c, path("risk", "release"), map[string]any{"users": users, "reason": reason})
	return err
}

// DecideHeld does one of release and confirm with held wins, and returns those that there are, as they are now.
func (c *Client) DecideHeld(ctx context.Context, act string, claims []string, reason string) (List[HeldWin], error) {
	return post[List[HeldWin]](ctx, c, path("risk", act), map[string]any{"claims": claims, "reason": reason})
}
