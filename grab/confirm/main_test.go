package confirm_test

import (
	"log/slog"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	store.LogClient(slog.New(slog.DiscardHandler)) // tests that kill Redis know that it is gone
	testenv.SideBySide()
	testenv.Main(m)
}
