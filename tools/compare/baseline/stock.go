package baseline

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed textbook.lua
var textbook string

// The script's answers to taps that win nothing.
const (
	codeAlready = 1
	codeSoldOut = 2
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

// grab decides a tap. code is 0 where the packet is won. The time-outs are the client's: a context that can end costs a
// timer with each tap.
func (s *store) grab(campaign, user, drop string) (won packet, code int64, err error) {
	ctx := context.Background()
	keys := []string{s.stockKey(campaign), s.winnersKey(campaign), s.payoutsKey()}
	answer, err := s.rdb.EvalSha(ctx, s.script.Hash(), keys, campaign, user, drop).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = s.script.Eval(ctx, s.rdb, keys, campaign, user, drop).Result()
	}
	if err != nil {
		return packet{}, 0, fmt.Errorf("decide a tap: %w", err)
	}
	switch a := answer.(type) {
	case int64:
		return packet{}, a, nil
	case string:
		if won, ok := parsePacket(a); ok {
			return won, 0, nil
		}
	}
	return packet{}, 0, fmt.Errorf("decide a tap: the answer %v", answer)
}

// parsePacket reads what fill has written, which is always spelt the same way.
func parsePacket(object string) (p packet, ok bool) {
	rest, ok := strings.CutPrefix(object, `{"id":`)
	id, amount, found := strings.Cut(rest, `,"amount":`)
	amount, closed := strings.CutSuffix(amount, "}")
	if !ok || !found || !closed {
		return packet{}, false
	}
	var errID, errAmount error
	p.ID, errID = strconv.Atoi(id)
	p.Amount, errAmount = strconv.ParseInt(amount, 10, 64)
	return p, errID == nil && errAmount == nil
}
