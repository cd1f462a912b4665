package cli

import "log/slog"

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
