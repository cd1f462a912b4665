package gateway

import (
	"log/slog"

	"github.com/redis/go-redis/v9"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/rain"
	"redrain/room"
)

// testGrabber decides taps on a Redis.
type testGrabber struct {
	*store.Stock
	*store.Limits
	*confirm.Confirmer
	*grab.Gates[Asked]
}

func newTestGrabber(rdb redis.UniversalClient, namespace string, clock rain.Clock, lobby *room.Lobby) *testGrabber {
	s := store.New(rdb, store.Options{Namespace: namespace, Clock: clock})
	c := confirm.New(s, confirm.Redis, nil, slog.New(slog.DiscardHandler))
	return &testGrabber{
		Stock: store.NewStock(s), Limits: store.NewLimits(s), Confirmer: c,
		Gates: grab.NewGates(s, c, Results{Lobby: lobby}.Answer, grab.Options{Clock: clock}),
	}
}
