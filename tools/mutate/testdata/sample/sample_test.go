package sample

import (
	"errors"
	"testing"
)

func TestAdd(t *testing.T) {
	s := &store{}
	for i := range 2 {
		if n, err := s.Add(i); n != i+1 || err != nil || s.items[i] != i {
			t.Fatal(n, err)
		}
	}
	if _, err := s.Add(-1); !errors.Is(err, errNone) {
		t.Fatal(err)
	}
}

func TestWeak(*testing.T) {
	s := &store{items: []int{1}}
	s.Weak(1, 2)
}

func TestNumber(t *testing.T) {
	if color("red").number() != 1 || color("blue").number() != 2 || color("").number() != 0 {
		t.Fatal()
	}
}

func TestEndless(t *testing.T) {
	if Endless() != 3 {
		t.Fatal()
	}
}

func TestWait(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	if wait().Seconds() != 3 {
		t.Fatal(wait())
	}
}

func TestDue(t *testing.T) {
	if due(true) != "SELECT name FROM job WHERE done = 0" || due(false) == "" {
		t.Fatal()
	}
}
