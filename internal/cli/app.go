package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"redrain/server/config"
)

// The exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // the command failed, or its answer is no
	ExitUsage   = 2 // bad configuration or usage: nothing was done
)

// Server is what `redrain serve` runs.
type Server interface {
	// Run serves until ctx ends, then drains. It returns nil after an orderly end.
	Run(ctx context.Context) error
}

// App is what the command line takes from its process. The zero value of every field after the first three is usable.
type App struct {
	Env    func(name string) (value string, ok bool)
	Stdout io.Writer
	Stderr io.Writer

	// NewServer makes the server of `redrain serve`; out is for what a person should read at start. nil: server.New.
	NewServer func(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (Server, error)
	// Location is the time zone that times are shown in. nil: the machine's.
	Location *time.Location
	// WatchEvery is how often `redrain watch` looks. 0: once a second.
	WatchEvery time.Duration

	json bool   // errors too are for a program to read
	verb string // the last word of the command: list, ban, or pause
}

// command is what one asks redrain to do.
type command interface {
	// check returns the faults of the settings that show without any I/O, one line each.
	check() []string
	Run(app *App) error
}

// interruptible returns a context that ends with the first Ctrl-C or SIGTERM.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// terminal tells whether w is a terminal, rather than a pipe or a file.
func (a *App) terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	kind, _ := a.Env("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && kind != "dumb"
}
