package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/altcha-org/altcha-lib-go"

	"redrain/internal/openapi"
)

// proofs are how many times a guest works: while one does, others of the same address may have made it more.
const proofs = 4

// Guest makes a new player with a generated name, where guests are allowed. It does the work that the server may want
// for that; other challenges are for people, and an error.
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

// work finds the number of a challenge, and says it as ALTCHA's widget does.
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
