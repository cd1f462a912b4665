// Command pictures makes the pictures of the README: docs/img/{play,screen,console}.webp. It starts redrain in this
// process, and lets a rain fall on players who tap. In the middle it takes pictures of the three pages.
//
//	go run -C tools ./pictures [FOLDER]
//
// Drops and winners differ from run to run; the pictures show the same states.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"redrain/internal/testkit/browser"
	"redrain/server"
	"redrain/server/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dir := filepath.Join("..", "docs", "img")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	err := run(ctx, dir)
	stop()
	if err != nil {
		slog.Error("no pictures", "err", err)
		os.Exit(1)
	}
}

// Secrets of a server that lives for half a minute.
const (
	operatorToken = "operator-token-of-the-pictures"
	jwtSecret     = "secret-of-the-pictures-that-is-long-enough"
)

func run(ctx context.Context, dir string) (err error) {
	cfg := config.Default()
	cfg.Listen, cfg.OperatorToken, cfg.JWTSecret, cfg.Demo = "127.0.0.1:0", operatorToken, jwtSecret, false
	s, err := server.New(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelWarn})), io.Discard)
	if err != nil {
		return fmt.Errorf("start redrain: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()

	path, err := browser.Find()
	if err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "redrain-pictures-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(profile)) }()
	b, err := browser.Start(path, profile)
	if err != nil {
		return err
	}
	defer b.Close()
	p := &photographer{b: b, home: "http://" + s.Addr().String(), dir: dir}
	return p.work(ctx)
}
