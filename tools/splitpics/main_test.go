package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redrain/rain"
)

// checkedIn is the folder of the checked-in pictures.
const checkedIn = "../../docs/img"

// The checked-in pictures equal the splits' drawings now, byte for byte.
func TestPicturesAreTheCodes(t *testing.T) {
	fresh := t.TempDir()
	if err := run([]string{fresh}); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(fresh, "*.svg"))
	if err != nil || len(drawn) != len(pictures()) {
		t.Fatalf("%d pictures were drawn (%v)", len(drawn), err)
	}
	for _, file := range drawn {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(checkedIn, filepath.Base(file)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the splits draw now (%v); run go generate ./docs", filepath.Base(file), err)
		}
		wellFormed(t, got)
	}
	if err := run(nil); err == nil {
		t.Error("nowhere to draw to, and no error")
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every split has a picture, and the page shows them all.
func TestEverySplitHasItsPicture(t *testing.T) {
	page, err := os.ReadFile("../../docs/understand/splits.md")
	if err != nil {
		t.Fatal(err)
	}
	var drawn []rain.SplitKind
	for _, p := range pictures() {
		drawn = append(drawn, p.split.Split)
		if !strings.Contains(string(page), "](../img/"+p.File+")") {
			t.Errorf("docs/understand/splits.md does not show %s", p.File)
		}
	}
	for _, kind := range rain.SplitKinds() {
		if !slices.Contains(drawn, kind) {
			t.Errorf("%s has no picture", kind)
		}
	}
}
