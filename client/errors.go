package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"redrain/client/openapi"
	"redrain/rain"
)

// Error is an answer outside 2xx, with its problem+json (RFC 9457) if the server has sent one.
type Error struct {
	Status int               `json:"-"`    // HTTP's
	Code   string            `json:"code"` // stable, for programs; "" for an answer of a proxy
	Title  string            `json:"title"`
	Detail string            `json:"detail"` // for people
	Errors []rain.FieldError `json:"errors"` // with the code "invalid": the fault of each field
	// Challenge is the CAPTCHA before a guest is created; nil with all other errors.
	Challenge *openapi.Challenge `json:"challenge"`
	// RequestID finds the request in the server's log.
	RequestID string `json:"request_id"`

	after time.Duration // the Retry-After
}

// Error formats the answer in one line.
func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = e.Title
	}
	if text == "" {
		text = http.StatusText(e.Status)
	}
	parts := make([]string, len(e.Errors))
	for i, f := range e.Errors {
		parts[i] = f.Field + " " + f.Message
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	if e.Code == "" {
		return fmt.Sprintf("%s (HTTP %d)", text, e.Status)
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		return fmt.Sprintf("%s (%s, request %s)", text, e.Code, e.RequestID)
	}
	return fmt.Sprintf("%s (%s)", text, e.Code)
}

// RetryAfter returns the answer's time until a repetition; 0 without one.
func (e *Error) RetryAfter() time.Duration { return e.after }

// HasStatus reports whether an error is an answer with that HTTP status.
func HasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// problem parses an error answer. If it is not problem+json, the error has the status only.
func problem(resp *http.Response) error {
	e := &Error{}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if json.Unmarshal(body, e) != nil {
		*e = Error{}
	}
	e.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.after = time.Duration(seconds) * time.Second
	}
	return e
}
