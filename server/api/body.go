package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"redrain/rain"
)

// The limits of a request's body, in bytes. It is held in memory whole.
const (
	maxBody       = 16 << 20 // of an operator's: a list of a million amounts fits
	maxPlayerBody = 4 << 10  // of a player's, as for their messages; there are many players, and anyone may be one
)

// readBody reads a request's body whole.
func readBody(w http.ResponseWriter, r *http.Request, who caller) ([]byte, error) {
	limit := int64(maxBody)
	if who.user != "" || who.role == "" {
		limit = maxPlayerBody
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("a body has at most %d bytes", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) { // package sockets sets it
		return nil, refuse(http.StatusRequestTimeout, "too_slow", "the request body timed out")
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "malformed", "the body could not be read")
	}
	return data, nil
}

// bodyOf reads a request's body, a JSON object, into what already holds the defaults.
func bodyOf[T any](w http.ResponseWriter, r *http.Request, who caller, in T) (T, error) {
	body, err := readBody(w, r, who)
	if err == nil {
		err = decode(body, &in)
	}
	return in, err
}

// decode reads a JSON object into what already holds the defaults. An empty body is an empty object. A field that does
// not exist is a fault: with money, a misspelt limit must not become the default.
func decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return refuse(http.StatusBadRequest, "malformed", "the body holds more than one JSON value")
		}
		return nil
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return refuse(http.StatusBadRequest, "malformed", "the body is not a JSON object")
		}
		return rain.Invalid{{Field: kind.Field, Message: "is not " + wanted(kind.Type.Kind().String())}}
	}
	// encoding/json has no type for this error.
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, _ := strconv.Unquote(field)
		return rain.Invalid{{Field: name, Message: "is not a field of this request"}}
	}
	return refuse(http.StatusBadRequest, "malformed", "the body is not JSON")
}

// wanted is what a Go kind is called in JSON.
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "an integer in range"
	case kind == "string":
		return "a string"
	case kind == "slice":
		return "a list"
	case kind == "bool":
		return "true or false"
	default:
		return "of the right kind"
	}
}

// faults collects what is wrong with a request.
type faults rain.Invalid

// check adds a fault unless ok is true.
func (f *faults) check(ok bool, field, format string, args ...any) {
	if !ok {
		*f = append(*f, rain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// checkErr adds a fault if there is an error.
func (f *faults) checkErr(err error, field, before string) {
	if err != nil {
		f.check(false, field, "%s%s", before, err)
	}
}

// checkAmount checks an amount of money.
func (f *faults) checkAmount(amount rain.Money) {
	f.check(amount >= 1 && amount <= rain.MaxBudget, "amount",
		"is required: minor units, above zero and at most ten trillion yuan")
}

// err is all faults, or nil.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return rain.Invalid(f)
}
