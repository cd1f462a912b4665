package testenv

import (
	"regexp"
	"testing"
)

func TestNamespaceIsANameOfItsOwn(t *testing.T) {
	pattern := regexp.MustCompile(`^[a-z][a-z0-9]{1,9}$`)
	seen := map[string]bool{}
	for range 1000 {
		ns := Namespace(t)
		if !pattern.MatchString(ns) {
			t.Fatalf("%q does not fit as a part of every name", ns)
		}
		if seen[ns] {
			t.Fatalf("%q twice", ns)
		}
		seen[ns] = true
	}
}
