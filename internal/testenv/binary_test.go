package testenv

import (
	"os"
	"testing"
)

func TestBinaryIsBuiltOncePerTags(t *testing.T) {
	plain := Binary(t)
	if info, err := os.Stat(plain); err != nil || info.Mode()&0o111 == 0 {
		t.Fatalf("%s is no program: %v", plain, err)
	}
	if again := Binary(t); again != plain {
		t.Errorf("built again, as %s", again)
	}
	faulty := Binary(t, "faults", "other")
	if faulty == plain {
		t.Error("one program for different tags")
	}
	if again := Binary(t, "other", "faults"); again != faulty {
		t.Error("the order of tags makes a difference")
	}
}
