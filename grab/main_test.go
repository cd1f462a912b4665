package grab

import (
	"log/slog"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	LogClient(slog.New(slog.DiscardHandler)) // tests that kill Redis know that it is gone
	testenv.Main(m)
}
