package e2e

import (
	"encoding/json"
	"testing"
)

func parse[T any](t *testing.T, line []byte) T {
	t.Helper()
	var v T
	must(t, json.Unmarshal(line, &v))
	return v
}

// must ends the test that has gone wrong, and no other. It belongs to the test's own goroutine.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
