package cli

import (
	"context"
	"io"
	"log/slog"

	"redrain/server"
)

// newServer is the real server.
func newServer(ctx context.Context, cfg server.Config, log *slog.Logger, out io.Writer) (Server, error) {
	s, err := server.New(ctx, cfg, log, out)
	if err != nil {
		return nil, err // a nil *server.Server would not be a nil Server
	}
	return s, nil
}
