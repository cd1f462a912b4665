//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"redrain/tools/compare/baseline"
)

// serveBaseline is this program as the baseline's process. It prints where it listens.
func serveBaseline(args []string, out io.Writer) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	o := baseline.Options{Listen: "127.0.0.1:0"}
	flags := flag.NewFlagSet("baseline", flag.ContinueOnError)
	flags.StringVar(&o.Redis, "redis", "", "address of Redis")
	flags.StringVar(&o.MySQL, "mysql", "", "data source name; nothing is settled without")
	flags.StringVar(&o.Secret, "secret", "", "secret of the players' tokens")
	flags.StringVar(&o.Prefix, "prefix", "", "of the keys in Redis")
	flags.IntVar(&o.Settlers, "settlers", 8, "workers that settle")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := baseline.New(ctx, o, slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, s.URL()); err != nil {
		return err
	}
	return s.Run(ctx)
}
