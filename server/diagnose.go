package server

import (
	"context"
	"log/slog"

	"github.com/nats-io/nats.go"

	"redrain/server/config"
	"redrain/server/doctor"
)

// Diagnose examines everything outside of the process that a node with these settings needs. It changes nothing.
// nodes is the number of nodes that will share the database.
func Diagnose(ctx context.Context, cfg config.Config, nodes int) []doctor.Finding {
	return doctor.Examine(ctx, doctor.Options{Config: cfg, Nodes: nodes, NATS: func() ([]nats.Option, error) {
		return natsOptions(&cfg, slog.New(slog.DiscardHandler))
	}})
}
