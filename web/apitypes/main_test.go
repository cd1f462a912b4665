package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"redrain/docs"
)

// TestTypesAreFresh fails where docs/openapi.yaml or the types have changed since the types were generated. It needs no
// npx; `make types`, which CI runs, generates the types anew and compares them.
func TestTypesAreFresh(t *testing.T) {
	committed, err := os.ReadFile("../../" + target)
	if err != nil {
		t.Fatal(err)
	}
	got, types := splitHeader(committed)
	if want := header(docs.OpenAPI, types); !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run `go generate ./web`. It begins with\n%swant\n%s", target, got, want)
	}
}

// TestHeaderTellsChanges: the header depends on the description and on the types.
func TestHeaderTellsChanges(t *testing.T) {
	first := header([]byte("a: 1"), []byte("type A = 1;"))
	for _, other := range [][]byte{
		header([]byte("a: 2"), []byte("type A = 1;")), header([]byte("a: 1"), []byte("type A = 2;")),
	} {
		if bytes.Equal(first, other) {
			t.Errorf("the header stays\n%s", first)
		}
	}
}

// splitHeader cuts a file behind its three lines of header.
func splitHeader(file []byte) (head, types []byte) {
	lines := strings.SplitAfterN(string(file), "\n", 4)
	if len(lines) < 4 {
		return file, nil
	}
	return []byte(strings.Join(lines[:3], "")), []byte(lines[3])
}
