package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"redrain/internal/operator"
	"redrain/server"
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
	NewServer func(ctx context.Context, cfg server.Config, log *slog.Logger, out io.Writer) (Server, error)
	// Location is the time zone that times are shown in. nil: the machine's.
	Location *time.Location
	// WatchEvery is how often `redrain watch` looks. 0: once a second.
	WatchEvery time.Duration
}

// command is what one asks redrain to do.
type command interface {
	// check returns the faults of the settings that show without any I/O, one line each.
	check() []string
	Run(app *App) error
}

// complain writes to standard error, a line for each line of the text.
func (a *App) complain(text string) {
	for line := range strings.Lines(text) {
		//nolint:errcheck // there is nowhere left to report it
		fmt.Fprintln(a.Stderr, "redrain: "+printable(strings.TrimRight(line, "\n")))
	}
}

// report writes why a command failed: a line for each field that the server refused, otherwise one line.
func (a *App) report(err error) {
	var answer *operator.Error
	switch {
	case errors.Is(err, context.Canceled):
		a.complain("interrupted")
	case errors.As(err, &answer) && len(answer.Errors) > 0:
		for _, f := range answer.Errors {
			a.complain(f.Field + " " + f.Message)
		}
	case operator.HasStatus(err, 401):
		a.complain(err.Error() + "; give --token or set REDRAIN_TOKEN")
	default:
		a.complain(err.Error())
	}
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
