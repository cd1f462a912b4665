package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/willabides/kongplete"

	"redrain/client"
	"redrain/server"
	"redrain/server/config"
)

// The exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // the command failed, or its answer is no
	ExitUsage   = 2 // bad configuration or usage: nothing was done
)

// Server is the server of `redrain serve`.
type Server interface {
	// Run serves until ctx ends, then drains. It returns nil after an orderly end.
	Run(ctx context.Context) error
}

// App holds the command line's environment in the process. All exported fields are required.
type App struct {
	Env    func(name string) (value string, ok bool)
	Stdout io.Writer
	Stderr io.Writer

	// NewServer returns the server of `redrain serve`. It writes the text for a person at start to out.
	NewServer func(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (Server, error)
	// Location is the time zone of displayed times.
	Location *time.Location
	// WatchEvery is the interval of `redrain watch`.
	WatchEvery time.Duration

	json     bool       // errors are JSON too
	selected *kong.Node // the command
}

// command is a parsed command of the command line.
type command interface{ Run(app *App) error }

// checked is a command that checks its settings without I/O. Its check returns the faults, one line each.
type checked interface{ check() faultList }

// faultList collects the faults of a command line.
type faultList []string

// when adds a fault if bad is true.
func (f *faultList) when(bad bool, text string) {
	if bad {
		*f = append(*f, text)
	}
}

// interruptible returns a context that ends with the first Ctrl-C or SIGTERM.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// terminal reports whether w is a terminal, and not a pipe or a file.
func (a *App) terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	kind, _ := a.Env("TERM")
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && kind != "dumb"
}

// Main executes a command line, without the program's name, and returns the exit code.
func Main(args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	app := &App{Env: env, Stdout: stdout, Stderr: stderr, Location: time.Local, WatchEvery: time.Second}
	app.NewServer = func(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (Server, error) {
		return server.New(ctx, cfg, log, out)
	}
	return app.Run(args)
}

// Run executes a command line like Main.
func (a *App) Run(args []string) int {
	if _, asked := a.Env("COMP_LINE"); asked {
		return a.complete()
	}
	if slices.Equal(args, []string{"--version"}) {
		args = []string{"version"}
	}
	a.json = slices.Contains(args, "--json")
	command, faults := a.parse(args)
	if len(faults) > 0 {
		a.complain(failure{Code: "usage", Detail: strings.Join(faults, "; "), Errors: faults})
		return ExitUsage
	}
	if command == nil { // help has been printed
		return ExitOK
	}
	if err := command.Run(a); err != nil {
		a.complain(failureOf(err))
		return ExitFailure
	}
	return ExitOK
}

// failure is an error on standard error: of a server, or of the command line. With --json it is one object.
type failure struct {
	Code   string   `json:"code"`             // the server's, or the command line's: "usage" and "failed"
	Status int      `json:"status,omitempty"` // of the answer
	Detail string   `json:"detail"`
	Errors []string `json:"errors,omitempty"`
	text   string   // for people
}

func failureOf(err error) failure {
	if errors.Is(err, context.Canceled) {
		return failure{Code: "interrupted", Detail: "interrupted", text: "interrupted"}
	}
	f := failure{Code: "failed", Detail: err.Error(), text: err.Error()}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		f.Code, f.Status = answer.Code, answer.Status
		f.Detail = strings.Replace(f.Detail, " ("+answer.Code+")", "", 1)
		for _, field := range answer.Errors {
			f.Errors = append(f.Errors, field.Field+" "+field.Message)
		}
		if answer.Status == http.StatusUnauthorized {
			f.text += "; give --token or set REDRAIN_TOKEN"
		}
	}
	return f
}

// complain writes a failure to standard error: one object, or a line for each error.
func (a *App) complain(f failure) {
	if a.json {
		_ = json.NewEncoder(a.Stderr).Encode(f) //nolint:errchkjson // there is nowhere left to report it
		return
	}
	lines := f.Errors
	if lines == nil {
		lines = strings.Split(f.text, "\n")
	}
	for _, line := range lines {
		fmt.Fprintln(a.Stderr, "redrain: "+printable(line)) //nolint:errcheck // as above
	}
}

// The formats of the log. "" chooses text on a terminal and JSON elsewhere.
const (
	logText = "text"
	logJSON = "json"
)

// newLogger returns a logger that writes to standard error.
func (a *App) newLogger(format string, level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == logText || (format == "" && a.terminal(a.Stderr)) {
		return slog.New(slog.NewTextHandler(a.Stderr, o))
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, o))
}

type versionCmd struct {
	JSON bool `name:"json" help:"In JSON."`
}

// Run prints the version.
func (c *versionCmd) Run(app *App) error {
	b := server.ReadBuild()
	if c.JSON {
		return printJSON(app, b)
	}
	text := "redrain " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	_, err := fmt.Fprintln(app.Stdout, text, b.Go)
	return err
}

// completionScripts make each shell ask redrain for completions. COMP_LINE has the text typed so far.
var completionScripts = map[string]string{
	"bash": `complete -o default -C "redrain" redrain`,
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\n" + `complete -o default -C "redrain" redrain`,
	"fish": "complete -c redrain -a '(env COMP_LINE=(commandline -cp) redrain)'",
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script, for `source <(redrain completion bash)` and its like.
func (c *completionCmd) Run(app *App) error {
	_, err := fmt.Fprintln(app.Stdout, completionScripts[c.Shell])
	return err
}

// complete answers a shell's request for completions, which is in the environment.
func (a *App) complete() int {
	code := ExitOK
	kongplete.Complete(a.newParser(), kongplete.WithExitFunc(func(c int) { code = c }))
	return code
}
