package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"redrain/server"
	"redrain/server/config"
)

// groups are the headings of the help: those of the settings, then those of other commands.
var groups = append(slices.Clone(config.Groups),
	kong.Group{Key: "remote", Title: "The server to speak to"},
	kong.Group{Key: "load", Title: "The load"},
	kong.Group{Key: "benchrain", Title: "A campaign and a rain of bench's own",
		Description: "With the operator's --token and no --campaign."},
	kong.Group{Key: "benchrivals", Title: "Farms and bots",
		Description: "Against --players people, each with a separate address; in bench's own rains."},
)

// serveCmd runs the server.
type serveCmd struct{ config.Config }

func (s *serveCmd) check() (faults faultList) {
	for _, err := range s.Validate() {
		faults = append(faults, err.Error())
	}
	return faults
}

// errAtOnce ends serve after a second signal.
var errAtOnce = errors.New("stopped at once by a second signal, without waiting for the end")

// Run serves until a signal comes, then drains. A second signal returns without waiting, for the process to exit.
func (s *serveCmd) Run(app *App) error {
	log := app.newLogger(s.LogFormat, s.LogLevel)
	server.SetUpLibraries(log)
	tuneCollector(s.Roles)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, app, s.Config, log) }()
	select {
	case err := <-done:
		return err
	case sig := <-signals:
		log.Info("asked to stop; once more stops at once", "signal", sig.String())
		cancel()
	}
	select {
	case err := <-done:
		return err
	case <-signals:
		return errAtOnce
	}
}

func serve(ctx context.Context, app *App, cfg config.Config, log *slog.Logger) error {
	srv, err := app.NewServer(ctx, cfg, log, app.Stdout)
	if err == nil {
		err = srv.Run(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it was stopped before it had started
	}
	return err
}

// tuneCollector sets the growth of the heap until the garbage collector runs, unless GOGC is set.
//
// A gateway collects when its heap has grown by half. Most of its memory belongs to waiting players, and a tap makes
// almost no garbage. So this costs little, and saves a tenth of the memory of each player. A settling node without
// players collects late: it keeps little and makes garbage with each batch, and collecting was a quarter of its work.
func tuneCollector(roles []string) {
	const early, late = 50, 400
	switch {
	case os.Getenv("GOGC") != "":
	case slices.Contains(roles, "gateway"):
		debug.SetGCPercent(early)
	case slices.Contains(roles, "settle"):
		debug.SetGCPercent(late)
	}
}
