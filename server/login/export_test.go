package login

import "context"

// Signature is the signature of a page.
var Signature = signature

// Refresh is one round of Run.
func (t *Tickets) Refresh(ctx context.Context) error { return t.refresh(ctx) }

// Current returns the ticket of this node; "" if there is none.
func (t *Tickets) Current() string {
	if c := t.current.Load(); c != nil {
		return c.text
	}
	return ""
}
