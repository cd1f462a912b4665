package operator

import (
	"context"
	"net/url"

	"redrain/rain"
)

// HeldWin is a win that is kept apart until somebody has decided about it, or was. Times are Unix milliseconds.
type HeldWin struct {
	Claim     string       `json:"claim"`
	Campaign  string       `json:"campaign"`
	User      string       `json:"user"`
	Packet    string       `json:"packet"`
	Amount    rain.Money   `json:"amount"`
	At        int64        `json:"at"` // when it was won
	HeldAt    int64        `json:"held_at"`
	Verdict   string       `json:"verdict"` // hold or deny
	Score     int          `json:"score"`
	Reasons   []RiskReason `json:"reasons"`
	State     string       `json:"state"` // held, released or confirmed
	DecidedBy string       `json:"decided_by,omitempty"`
	Decision  string       `json:"decision,omitempty"`
	DecidedAt int64        `json:"decided_at,omitempty"`
}

// RiskReason is what a rule has to say of a player.
type RiskReason struct {
	Rule     string `json:"rule"`
	Score    int    `json:"score"`
	Sentence string `json:"sentence"`
}

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
