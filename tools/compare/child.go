//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"redrain/tools/compare/bare"
	"redrain/tools/compare/baseline"
)

// servers are the contestants that this program itself serves as, by its first argument. They print where they listen.
var servers = map[string]func(ctx context.Context, args []string, out io.Writer) error{
	"baseline": serveBaseline,
	"bare":     serveBare,
}

func serve(server func(context.Context, []string, io.Writer) error, args []string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return server(ctx, args, os.Stdout)
}

func serveBaseline(ctx context.Context, args []string, out io.Writer) error {
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

func serveBare(ctx context.Context, _ []string, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "http://"+listener.Addr().String()); err != nil {
		return err
	}
	web := &http.Server{Handler: bare.New().Handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case <-ctx.Done():
		return errors.Join(web.Close(), ignoreClosed(<-ended))
	case err := <-ended:
		return err
	}
}

// ignoreClosed leaves out the error of a server that was closed on purpose.
func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
