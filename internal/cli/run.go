package cli

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"redrain/server"
	"redrain/server/config"
)

// Main carries out a command line, without the program's name, and returns the exit code.
func Main(args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	app := &App{Env: env, Stdout: stdout, Stderr: stderr}
	return app.Run(args)
}

// Run carries out a command line, as the function Main does.
func (a *App) Run(args []string) int {
	if a.NewServer == nil {
		a.NewServer = newServer
	}
	if a.Location == nil {
		a.Location = time.Local
	}
	if a.WatchEvery == 0 {
		a.WatchEvery = time.Second
	}
	if _, asked := a.Env("COMP_LINE"); asked {
		return a.complete()
	}
	if slices.Equal(args, []string{"--version"}) {
		args = []string{"version"}
	}
	a.json = slices.Contains(args, "--json")
	command, faults := a.parse(args)
	if len(faults) > 0 {
		a.misused(faults)
		return ExitUsage
	}
	if command == nil { // help has been printed
		return ExitOK
	}
	if err := command.Run(a); err != nil {
		a.report(err)
		return ExitFailure
	}
	return ExitOK
}

// newServer is the real server.
func newServer(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (Server, error) {
	s, err := server.New(ctx, cfg, log, out)
	if err != nil {
		return nil, err // a nil *server.Server would not be a nil Server
	}
	return s, nil
}
