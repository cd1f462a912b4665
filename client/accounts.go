package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/altcha-org/altcha-lib-go"

	"redrain/client/openapi"
	"redrain/rain"
)

// Deposit adds money to a sponsor's account, once for each reference.
func (c *Client) Deposit(ctx context.Context, sponsor, reference string, amount rain.Money) (openapi.Sponsor, error) {
	return Post[openapi.Sponsor](ctx, c, openapi.Deposit{Amount: amount, Reference: reference},
		"sponsors", sponsor, "deposits")
}

// Withdraw takes money out of the account of the player whose token the client has, once for each key.
func (c *Client) Withdraw(ctx context.Context, amount rain.Money, key string) (openapi.Withdrawn, error) {
	return call[openapi.Withdrawn](ctx, c, request{method: http.MethodPost, path: path("me", "withdrawals"),
		body: openapi.NewWithdrawal{Amount: amount}, key: key})
}

// Lobby returns the campaign of the start page. No token is needed.
func (c *Client) Lobby(ctx context.Context) (openapi.Lobby, error) {
	return Get[openapi.Lobby](ctx, c, "lobby")
}

// LoginCode creates a code that signs a player in.
func (c *Client) LoginCode(ctx context.Context, wish LoginWish) (openapi.LoginCode, error) {
	return Post[openapi.LoginCode](ctx, c, wish, "login-codes")
}

// Turn returns whether the client's player is admitted, else the queue position. The position is kept while the player
// asks in time.
func (c *Client) Turn(ctx context.Context, campaign string) (openapi.Admission, error) {
	return call[openapi.Admission](ctx, c, request{method: http.MethodGet, path: path("admission"),
		query: url.Values{"campaign": {campaign}}})
}

// PendingError is returned by a command that waits for a second person.
type PendingError struct{ Approval openapi.Approval }

// Error names the command that confirms the order.
func (e *PendingError) Error() string {
	return fmt.Sprintf("it needs a second person: another one confirms it with redrain approval confirm %s",
		e.Approval.Approval)
}

// RetryPayouts retries all dead payouts of one campaign, or of all if campaign is "".
func (c *Client) RetryPayouts(ctx context.Context, campaign string) (Retried, error) {
	return call[Retried](ctx, c, request{method: http.MethodPost, path: path("payouts", "retry"),
		body: openapi.RetryAllPayoutsJSONBody{Campaign: campaign}, timeout: createTimeout})
}

// HeldWins returns a page of the held wins, the oldest first.
func (c *Client) HeldWins(ctx context.Context, p Page) (List[HeldWin], error) {
	return Pages[HeldWin](c, url.Values{"state": {"held"}}, "risk", "held")(ctx, p)
}

// DecideHeld releases or confirms held wins, and returns them in their new state. Unknown claims are missing in the
// result.
func (c *Client) DecideHeld(ctx context.Context, act string, claims []string, reason string) (List[HeldWin], error) {
	return Post[List[HeldWin]](ctx, c, openapi.HeldDecision{Claims: claims, Reason: reason}, "risk", act)
}

// DeleteList deletes a list that no campaign needs.
func (c *Client) DeleteList(ctx context.Context, name string) error {
	_, done, err := c.send(ctx, request{method: http.MethodDelete, path: path("lists", name), timeout: rebuildTimeout})
	if err == nil {
		done()
	}
	return err
}

// ImportMembers adds the members in a CSV to a list; with replace it removes all others.
func (c *Client) ImportMembers(ctx context.Context, name string, file io.Reader,
	replace bool) (openapi.PlayerList, error) {
	r := request{method: http.MethodPost, path: path("lists", name, "members"), csv: file, timeout: rebuildTimeout}
	if replace {
		r.method = http.MethodPut
	}
	return call[openapi.PlayerList](ctx, c, r)
}

// VerifyAudit makes the server compare the ledger's rows with their hashes, blocks and roots. from is the day of the
// first root; "": the beginning. The roots in noted were kept elsewhere, and take precedence over the ledger's own.
func (c *Client) VerifyAudit(ctx context.Context, from string,
	noted []openapi.AuditRoot) (openapi.AuditVerification, error) {
	return call[openapi.AuditVerification](ctx, c, request{method: http.MethodPost, path: path("audit", "verify"),
		body: openapi.VerifyAuditJSONBody{From: from, Roots: noted}, timeout: reconcileTimeout})
}

// MatchStatement compares a provider's or a bank's statement with the ledger.
func (c *Client) MatchStatement(
	ctx context.Context, s openapi.MatchStatementJSONBody,
) (openapi.StatementReport, error) {
	return call[openapi.StatementReport](ctx, c, request{method: http.MethodPost, path: path("statements", "match"),
		body: s, timeout: reconcileTimeout})
}

// proofs is the number of tries at a proof of work. Meanwhile other guests of the address may have raised the required
// work.
const proofs = 4

// Guest creates a new player with a generated name, if guests are allowed. It computes a proof of work if required; any
// other challenge is an error.
func (c *Client) Guest(ctx context.Context) (openapi.Guest, error) {
	var body any
	for tries := 0; ; tries++ {
		guest, err := Post[openapi.Guest](ctx, c, body, "guests")
		refusal, refused := errors.AsType[*Error](err)
		if !refused || refusal.Challenge == nil || refusal.Challenge.Work == nil || tries == proofs {
			return guest, err
		}
		proof, err := work(ctx, refusal.Challenge.Work)
		if err != nil {
			return openapi.Guest{}, err
		}
		body = map[string]string{"proof": proof}
	}
}

// work solves a challenge, and returns the payload of ALTCHA's widget.
func work(ctx context.Context, c *altcha.Challenge) (string, error) {
	found, err := altcha.SolveChallenge(c.Challenge, c.Salt, altcha.Algorithm(c.Algorithm), int(c.MaxNumber), 0,
		ctx.Done())
	switch {
	case err != nil:
		return "", fmt.Errorf("work for a guest's name: %w", err)
	case found == nil && ctx.Err() != nil:
		return "", ctx.Err()
	case found == nil:
		return "", errors.New("work for a guest's name: the server's challenge has no answer")
	}
	text, err := json.Marshal(altcha.Payload{Algorithm: c.Algorithm, Challenge: c.Challenge,
		Number: int64(found.Number), Salt: c.Salt, Signature: c.Signature})
	return base64.StdEncoding.EncodeToString(text), err
}
