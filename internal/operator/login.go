package operator

import "context"

// LoginWish is what a code is asked for that signs a player in: with an operator's token for User; with a player's own
// token, for that player, with the campaign only.
type LoginWish struct {
	User     string `json:"user,omitempty"`
	Name     string `json:"name,omitempty"` // what the player is called by
	Campaign string `json:"campaign,omitempty"`
	TTLMS    int64  `json:"ttl_ms,omitempty"` // of the token; 0: as the server has it
}

// LoginCode is a code that works once.
type LoginCode struct {
	Code      string `json:"code"`
	ExpiresAt int64  `json:"expires_at"`
	Link      string `json:"link"` // behind the address of the server
}

// LoginCode makes a code that signs a player in.
func (c *Client) LoginCode(ctx context.Context, wish LoginWish) (LoginCode, error) {
	return post[LoginCode](ctx, c, path("login-codes"), wish)
}
