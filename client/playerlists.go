package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"redrain/internal/openapi"
)

// PlayerLists is a page of the lists, in the order of their names.
func (c *Client) PlayerLists(ctx context.Context, p Page) (List[openapi.PlayerList], error) {
	return list[openapi.PlayerList](ctx, c, path("lists"), nil, p)
}

// PlayerList is one list.
func (c *Client) PlayerList(ctx context.Context, name string) (openapi.PlayerList, error) {
	return get[openapi.PlayerList](ctx, c, path("lists", name))
}

// CreateList makes an empty list.
func (c *Client) CreateList(ctx context.Context, name, of, purpose string) (openapi.PlayerList, error) {
	body := map[string]string{"list": name, "of": of, "purpose": purpose}
	return post[openapi.PlayerList](ctx, c, path("lists"), body)
}

// DeleteList deletes a list that no campaign needs.
func (c *Client) DeleteList(ctx context.Context, name string) error {
	_, done, err := c.send(ctx, request{method: http.MethodDelete, path: path("lists", name), timeout: rebuildTimeout})
	if err == nil {
		done()
	}
	return err
}

// ListMembers is a page of who is on a list; with one, of that member only.
func (c *Client) ListMembers(ctx context.Context, name, one string, p Page) (List[openapi.ListMember], error) {
	query := url.Values{}
	if one != "" {
		query.Set("member", one)
	}
	return list[openapi.ListMember](ctx, c, path("lists", name, "members"), query, p)
}

// AddMembers puts some on a list, RemoveMembers takes some off it.
func (c *Client) AddMembers(ctx context.Context, name string, who []string) (openapi.PlayerList, error) {
	return post[openapi.PlayerList](ctx, c, path("lists", name, "members"), map[string]any{"members": who})
}

// RemoveMembers takes some off a list.
func (c *Client) RemoveMembers(ctx context.Context, name string, who []string) (openapi.PlayerList, error) {
	return post[openapi.PlayerList](ctx, c, path("lists", name, "remove"), map[string]any{"members": who})
}

// ImportMembers puts all members that a CSV has on a list; with replace they are all that are on it then.
func (c *Client) ImportMembers(ctx context.Context, name string, file io.Reader,
	replace bool) (openapi.PlayerList, error) {
	r := request{method: http.MethodPost, path: path("lists", name, "members"), csv: file, timeout: rebuildTimeout}
	if replace {
		r.method = http.MethodPut
	}
	return call[openapi.PlayerList](ctx, c, r)
}
