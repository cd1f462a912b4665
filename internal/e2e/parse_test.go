package e2e

import (
	"encoding/json"
	"errors"
	"testing"

	"redrain/client"
	"redrain/internal/testenv"
)

func parse[T any](t *testing.T, line []byte) T {
	t.Helper()
	var v T
	must(t, json.Unmarshal(line, &v))
	return v
}

// hasCode reports whether an error is the server's answer with a code.
func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Code == code
}

// must ends the test that has gone wrong, and no other. It belongs to the test's own goroutine.
func must(t *testing.T, err error) {
	t.Helper()
	testenv.Must(t, err)
}
