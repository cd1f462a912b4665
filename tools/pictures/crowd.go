package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/bench"
)

var families = []rune("王李张刘陈杨赵黄周吴徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹")

// gather lets players join a campaign who tap now and then, so that the pictures show a busy room. They leave with
// disperse.
func gather(ctx context.Context, home, campaign string, count int) (disperse func() error, err error) {
	crowd, err := bench.Gather(ctx, bench.Options{
		Targets: []string{"ws" + strings.TrimPrefix(home, "http") + "/ws"}, Campaigns: []string{campaign},
		Players: count,
		Token: func(_ context.Context, i int) (string, error) {
			return tokenOf(fmt.Sprintf("%c-%d", families[i%len(families)], i))
		},
	})
	if err != nil {
		return nil, err
	}
	playing, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		crowd.Play(playing, bench.Plan{Duration: time.Hour, Drain: time.Millisecond, Hand: &bench.Hand{
			Reaction: func() time.Duration {
				return 600*time.Millisecond + rand.N(900*time.Millisecond) //nolint:gosec // no secret
			},
			Pause: func() time.Duration { return 2 * time.Second },
		}})
	}()
	return func() error {
		stop()
		<-ended
		crowd.Leave()
		return nil
	}, nil
}

func tokenOf(user string) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": user,
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(jwtSecret))
}
