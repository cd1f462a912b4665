package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"redrain/client/openapi"
)

// maxPage is the largest page.
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

// All reads a complete list in large pages: All(ctx, client.Campaigns). It ends with the first error.
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

// The most used answers. Package openapi has all of them.
type (
	Campaign       = openapi.Campaign
	Claim          = openapi.Claim
	DeadLetter     = openapi.DeadLetter
	Fairness       = openapi.Fairness
	HeldWin        = openapi.HeldWin
	LoginWish      = openapi.LoginCodeRequest
	Player         = openapi.Player
	Reconciliation = openapi.Reconciliation
	Retried        = openapi.Retried
	RiskReason     = openapi.RiskReason
	RiskVerdict    = openapi.RiskVerdict
	Stats          = openapi.Stats
	Withdrawal     = openapi.WithdrawalRecord
)

// The states of a claim.
const (
	ClaimGranted = "granted" // won; the ledger does not have it yet
	ClaimSettled = "settled" // paid
	ClaimFailed  = "failed"  // the payment failed and is tried again
	ClaimDead    = "dead"    // the payment has failed for good and needs an operator
)

// The states of a withdrawal.
const (
	WithdrawalPending = "pending" // out of the player's account, not paid yet
	WithdrawalPaid    = "paid"
	WithdrawalFailed  = "failed" // refused for good; the money is back in the player's account
)

// Page selects a part of a list.
type Page struct {
	Limit  int    // items at most, up to 500; 0: 50
	Cursor string // the List.Next of the page before; "": the first page
}

// List is a page of a list.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"` // "" on the last page
}
