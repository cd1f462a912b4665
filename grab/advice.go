package grab

import (
	"context"
	"fmt"
)

// Advice is what is dangerous about the way Redis is set up, in words for an operator; nothing where all is well. A server
// that does not let itself be asked (CONFIG is often forbidden) is an answer too.
func (g *Grabber) Advice(ctx context.Context) []string {
	var advice []string
	for setting, good := range map[string]string{"maxmemory-policy": "noeviction", "appendonly": "yes"} {
		got, err := g.rdb.ConfigGet(ctx, setting).Result()
		switch is := got[setting]; {
		case err != nil:
			advice = append(advice, fmt.Sprintf("Redis does not tell its %s, which must be %s: %s", setting, good, err))
		case is != good:
			advice = append(advice, fmt.Sprintf("Redis has %s %s; it must be %s, or wins can be lost", setting, is, good))
		}
	}
	return advice
}
