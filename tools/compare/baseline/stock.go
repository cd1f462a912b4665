package baseline

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed textbook.lua
var textbook string

// The first value of the script's answer.
const (
	codeWon = iota
	codeAlready
	codeSoldOut
)

// store is all that is in Redis.
type store struct {
	rdb    *redis.Client
	prefix string
	script *redis.Script
}

func openStore(addr, prefix string) *store {
	return &store{rdb: redis.NewClient(&redis.Options{Addr: addr}), prefix: prefix, script: redis.NewScript(textbook)}
}

func (s *store) stockKey(campaign string) string { return s.prefix + ":" + campaign + ":stock" }

func (s *store) winnersKey(campaign string) string { return s.prefix + ":" + campaign + ":winners" }

func (s *store) payoutsKey() string { return s.prefix + ":payouts" }

// fill pushes packets of the same amount. The packets are numbered from 0.
func (s *store) fill(ctx context.Context, campaign string, packets int, amount int64) error {
	const chunk = 1000
	values := make([]any, 0, chunk)
	for i := range packets {
		if values = append(values, encode(packet{ID: i, Amount: amount})); len(values) < chunk && i < packets-1 {
			continue
		}
		if err := s.rdb.LPush(ctx, s.stockKey(campaign), values...).Err(); err != nil {
			return fmt.Errorf("push the stock: %w", err)
		}
		values = values[:0]
	}
	return nil
}

// grab decides a tap. id and amount come only with codeWon.
func (s *store) grab(ctx context.Context, campaign, user, drop string) (code, id, amount int64, err error) {
	keys := []string{s.stockKey(campaign), s.winnersKey(campaign), s.payoutsKey()}
	answer, err := s.script.Run(ctx, s.rdb, keys, campaign, user, drop).Int64Slice()
	switch {
	case err != nil:
		return 0, 0, 0, fmt.Errorf("decide a tap: %w", err)
	case len(answer) == 3:
		return answer[0], answer[1], answer[2], nil
	case len(answer) == 1:
		return answer[0], 0, 0, nil
	default:
		return 0, 0, 0, fmt.Errorf("decide a tap: an answer of %d values", len(answer))
	}
}
