package client

import "context"

// Player is what there is about a player.
func (c *Client) Player(ctx context.Context, user string) (Player, error) {
	return get[Player](ctx, c, path("users", user))
}

// Sanction does one of disconnect, ban and unban about a player.
func (c *Client) Sanction(ctx context.Context, user, act, reason string) (Player, error) {
	return post[Player](ctx, c, path("users", user, act), map[string]string{"reason": reason})
}
