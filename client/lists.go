package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// maxPage is the largest page there is.
const maxPage = 500

// Pages returns a list's pages, for All. The path is as in Get; a query may be nil.
func Pages[T any](c *Client, query url.Values, segments ...string) func(context.Context, Page) (List[T], error) {
	return func(ctx context.Context, p Page) (List[T], error) {
		query := maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		if p.Limit > 0 {
			query.Set("limit", strconv.Itoa(p.Limit))
		}
		if p.Cursor != "" {
			query.Set("cursor", p.Cursor)
		}
		return call[List[T]](ctx, c, request{method: http.MethodGet, path: path(segments...), query: query})
	}
}

// All walks through every page of a list, in large pages: All(ctx, client.Campaigns). It ends with the
// first error.
func All[T any](ctx context.Context, page func(context.Context, Page) (List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p := (Page{Limit: maxPage}); ; {
			l, err := page(ctx, p)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range l.Items {
				if !yield(item, nil) {
					return
				}
			}
			if l.Next == "" || l.Next == p.Cursor {
				return
			}
			p.Cursor = l.Next
		}
	}
}
