package server

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/testenv"
)

// TestAnAddressThatCannotWorkIsRefusedAtOnce: a node does not wait for a single server to become a Cluster.
func TestAnAddressThatCannotWorkIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	redis := testenv.Got(embedded.Redis()).Must(t)
	t.Cleanup(redis.Close)
	cfg := onNATS("")
	cfg.Redis = redis.Addr() + "," + redis.Addr()
	_, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard)
	if _, isFault := errors.AsType[store.AddressError](err); !isFault || errors.Is(err, errBackend) {
		t.Errorf("two addresses of one server: %v", err)
	}
}
