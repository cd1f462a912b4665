package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"
)

// TestLongContents: the hash in parts is the hash of all bytes at once, and does not affect the next content.
func TestLongContents(t *testing.T) {
	t.Parallel()
	var c Content
	for _, values := range []int{0, 1, 30, 500, 7, 2 * hashedAtOnce / 104, 3} {
		var all []byte
		for i := range values {
			text := strings.Repeat(string(rune('a'+i%26)), 100)
			c.Text(text[:40], text[40:])
			all = append(binary.BigEndian.AppendUint32(all, 100), text...)
		}
		if got := c.Sum(); got != sha256.Sum256(all) {
			t.Errorf("%d values: %s", values, got)
		}
	}
	c.Null()
	if got := c.Sum(); got != sha256.Sum256([]byte{255, 255, 255, 255}) {
		t.Errorf("a missing value: %s", got)
	}
}

// TestAReusedContentTakesNoMemory: for any length of content.
func TestAReusedContentTakesNoMemory(t *testing.T) {
	var c Content
	text := strings.Repeat("x", 100)
	fill := func() {
		for range 500 {
			c.Text(text)
			c.Int(1_763_712_000_000)
		}
		_ = c.Sum()
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
