package client

import (
	"context"
	"net/http"
	"net/url"

	"redrain/internal/openapi"
	"redrain/rain"
)

// Deposit adds money to a sponsor's account, once for each reference.
func (c *Client) Deposit(ctx context.Context, sponsor, reference string, amount rain.Money) (openapi.Sponsor, error) {
	return post[openapi.Sponsor](ctx, c, path("sponsors", sponsor, "deposits"),
		map[string]any{"amount": amount, "reference": reference})
}

// Sponsor is a sponsor's account.
func (c *Client) Sponsor(ctx context.Context, id string) (openapi.Sponsor, error) {
	return get[openapi.Sponsor](ctx, c, path("sponsors", id))
}

// Sponsors is a page of everybody who has ever deposited, by their ids.
func (c *Client) Sponsors(ctx context.Context, p Page) (List[openapi.Sponsor], error) {
	return list[openapi.Sponsor](ctx, c, path("sponsors"), nil, p)
}

// User is a player's account.
func (c *Client) User(ctx context.Context, id string) (openapi.Balance, error) {
	return get[openapi.Balance](ctx, c, path("users", id))
}

// UserClaims is a page of what a player has won, the newest first.
func (c *Client) UserClaims(ctx context.Context, id string, p Page) (List[Claim], error) {
	return list[Claim](ctx, c, path("users", id, "claims"), nil, p)
}

// MyClaims is a page of what that player has won, the newest first.
func (c *Client) MyClaims(ctx context.Context, p Page) (List[Claim], error) {
	return list[Claim](ctx, c, path("me", "claims"), nil, p)
}

// Withdrawals is a page of all players' withdrawals, the newest first; state "" is every state.
func (c *Client) Withdrawals(ctx context.Context, state string, p Page) (List[Withdrawal], error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	return list[Withdrawal](ctx, c, path("withdrawals"), query, p)
}

// Withdrawal is one withdrawal, with its history.
func (c *Client) Withdrawal(ctx context.Context, id string) (Withdrawal, error) {
	return get[Withdrawal](ctx, c, path("withdrawals", id))
}

// OrderWithdrawal does one of hold, release, paid and back with a withdrawal. The last two may need a second person:
// then they are a *PendingError.
func (c *Client) OrderWithdrawal(ctx context.Context, id, order string, o openapi.WithdrawalOrder) (Withdrawal, error) {
	return post[Withdrawal](ctx, c, path("withdrawals", id, order), o)
}

// Withdraw takes money out of the account of the player whose token the client has, once for each key.
func (c *Client) Withdraw(ctx context.Context, amount rain.Money, key string) (openapi.Withdrawn, error) {
	return call[openapi.Withdrawn](ctx, c, request{method: http.MethodPost, path: path("me", "withdrawals"),
		body: map[string]any{"amount": amount}, key: key})
}

// Lobby is the campaign that a newcomer should play. No token is needed.
func (c *Client) Lobby(ctx context.Context) (openapi.Lobby, error) {
	return get[openapi.Lobby](ctx, c, path("lobby"))
}

// DeadPayouts is a page of the payments that were given up.
func (c *Client) DeadPayouts(ctx context.Context, p Page) (List[DeadLetter], error) {
	return list[DeadLetter](ctx, c, path("payouts"), url.Values{"state": {ClaimDead}}, p)
}

// RetryPayout retries a payment or a withdrawal that was given up.
func (c *Client) RetryPayout(ctx context.Context, claim string) (Claim, error) {
	return post[Claim](ctx, c, path("payouts", claim, "retry"), nil)
}

// RetryPayouts retries all payments that were given up: those of one campaign, or of all where campaign is "".
func (c *Client) RetryPayouts(ctx context.Context, campaign string) (Retried, error) {
	body := map[string]any{}
	if campaign != "" {
		body["campaign"] = campaign
	}
	return call[Retried](ctx, c, request{method: http.MethodPost, path: path("payouts", "retry"), body: body,
		timeout: createTimeout})
}

// DismissPayout ends dead letters of a claim that are nobody's, all of them or, where letter is not "", one. why is
// kept.
func (c *Client) DismissPayout(ctx context.Context, claim, letter, why string) (openapi.Dismissed, error) {
	body := map[string]any{"reason": why}
	if letter != "" {
		body["letter"] = letter
	}
	return post[openapi.Dismissed](ctx, c, path("payouts", claim, "dismiss"), body)
}

// Audit is a page of the operators' actions.
func (c *Client) Audit(ctx context.Context, p Page) (List[openapi.AuditRecord], error) {
	return list[openapi.AuditRecord](ctx, c, path("audit"), nil, p)
}

// AuditRoots is a page of the roots of the days, the newest first.
func (c *Client) AuditRoots(ctx context.Context, p Page) (List[openapi.AuditRoot], error) {
	return list[openapi.AuditRoot](ctx, c, path("audit", "roots"), nil, p)
}

// VerifyAudit has the server compare the ledger's rows with their hashes, blocks and roots, from the root of a day on;
// "": from the beginning. The roots in noted, which were kept elsewhere, count more than the ledger's own.
func (c *Client) VerifyAudit(ctx context.Context, from string,
	noted []openapi.AuditRoot) (openapi.AuditVerification, error) {
	body := map[string]any{}
	if from != "" {
		body["from"] = from
	}
	if len(noted) > 0 {
		body["roots"] = noted
	}
	return call[openapi.AuditVerification](ctx, c, request{method: http.MethodPost, path: path("audit", "verify"),
		body: body, timeout: reconcileTimeout})
}

// MatchStatement holds a provider's or a bank's statement against the ledger.
func (c *Client) MatchStatement(
	ctx context.Context, s openapi.MatchStatementJSONBody,
) (openapi.StatementReport, error) {
	return call[openapi.StatementReport](ctx, c, request{method: http.MethodPost, path: path("statements", "match"),
		body: s, timeout: reconcileTimeout})
}
