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

// TestABinaryThatIsUpToDateIsNotLinkedAgain: it is the same file under another name.
func TestABinaryThatIsUpToDateIsNotLinkedAgain(t *testing.T) {
	first := Binary(t)
	second, err := buildBinary("")
	Must(t, err)
	one, err1 := os.Stat(first)
	two, err2 := os.Stat(second)
	if err1 != nil || err2 != nil || first == second || !os.SameFile(one, two) {
		t.Errorf("%s (%v) and %s (%v) are not one program", first, err1, second, err2)
	}
}
