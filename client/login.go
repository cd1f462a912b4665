package client

import (
	"context"

	"redrain/internal/openapi"
)

// LoginCode makes a code that signs a player in.
func (c *Client) LoginCode(ctx context.Context, wish LoginWish) (openapi.LoginCode, error) {
	return post[openapi.LoginCode](ctx, c, path("login-codes"), wish)
}
