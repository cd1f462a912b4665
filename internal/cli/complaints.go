package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"redrain/client"
)

// complain writes to standard error, a line for each line of the text.
func (a *App) complain(text string) {
	for line := range strings.Lines(text) {
		//nolint:errcheck // there is nowhere left to report it
		fmt.Fprintln(a.Stderr, "redrain: "+printable(strings.TrimRight(line, "\n")))
	}
}

// failure is an error as JSON on standard error: of a server, or of the command line.
type failure struct {
	Code   string   `json:"code"`             // the server's, or the command line's: "usage" and "failed"
	Status int      `json:"status,omitempty"` // of the answer
	Detail string   `json:"detail"`
	Errors []string `json:"errors,omitempty"`
}

func (f failure) write(to io.Writer) {
	_ = json.NewEncoder(to).Encode(f) //nolint:errchkjson // there is nowhere left to report it
}

// misused writes the faults of a command line, one on each line.
func (a *App) misused(faults []string) {
	if a.json {
		failure{Code: "usage", Detail: strings.Join(faults, "; "), Errors: faults}.write(a.Stderr)
		return
	}
	for _, f := range faults {
		a.complain(f)
	}
}

// report writes why a command failed: a line for each field that the server refused, otherwise one line; or one object.
func (a *App) report(err error) {
	var answer *client.Error
	switch {
	case a.json:
		failureOf(err).write(a.Stderr)
	case errors.Is(err, context.Canceled):
		a.complain("interrupted")
	case errors.As(err, &answer) && len(answer.Errors) > 0:
		for _, f := range answer.Errors {
			a.complain(f.Field + " " + f.Message)
		}
	case client.HasStatus(err, 401):
		a.complain(err.Error() + "; give --token or set REDRAIN_TOKEN")
	default:
		a.complain(err.Error())
	}
}

func failureOf(err error) failure {
	f := failure{Code: "failed", Detail: err.Error()}
	if errors.Is(err, context.Canceled) {
		return failure{Code: "interrupted", Detail: "interrupted"}
	}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		f.Code, f.Status = answer.Code, answer.Status
		f.Detail = strings.Replace(f.Detail, " ("+answer.Code+")", "", 1)
		for _, field := range answer.Errors {
			f.Errors = append(f.Errors, field.Field+" "+field.Message)
		}
	}
	return f
}
