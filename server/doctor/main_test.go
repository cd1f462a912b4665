package doctor

import (
	"log/slog"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	store.LogClient(slog.New(slog.DiscardHandler))
	testenv.Main(m)
}
