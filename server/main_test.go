package server

import (
	"log/slog"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	SetUpLibraries(slog.New(slog.DiscardHandler))
	testenv.Main(m)
}
