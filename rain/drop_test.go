package rain_test

import (
	"math"
	"strings"
	"testing"

	"redrain/rain"
)

func TestParseDropIsExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rain.DropID{
		"0.0":                             {N: 0, K: 0},
		"7.3":                             {N: 7, K: 3},
		"10.0":                            {N: 10, K: 0},
		"123456789012345.999999999999999": {N: 123_456_789_012_345, K: 999_999_999_999_999},
	} {
		if got, ok := rain.ParseDrop(text); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
		if got := want.String(); got != text {
			t.Errorf("%q is printed as %q", text, got)
		}
	}
	if huge := (rain.DropID{N: math.MaxInt64, K: 1}); huge.String() != "9223372036854775807.1" {
		t.Errorf("%d.%d prints as %s", huge.N, huge.K, huge)
	}
	for _, text := range []string{
		"", ".", "7", "7.", ".3", "07.3", "7.03", "00.0", "+7.3", "7.+3", "-7.3", "7.-3", " 7.3", "7.3 ", "7. 3",
		"7.3.1", "7,3", "7.3\n", "7.3\x00", "7.a", "a.3", "0x7.3", "1e3.1", "7_0.3", "７.３", "٧.٣", "..", "7..3",
		"1234567890123456.0", "0.1234567890123456", "9223372036854775807.0", "9223372036854775808.0",
		"18446744073709551616.0", strings.Repeat("9", 4_000) + ".1", "1." + strings.Repeat("0", 4_000),
		strings.Repeat(".", 4_000),
	} {
		if got, ok := rain.ParseDrop(text); ok || got != (rain.DropID{}) {
			t.Errorf("%.40q was read as %v (%v)", text, got, ok)
		}
	}
}

func TestParseDropAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = rain.ParseDrop("123456.17") }); n != 0 {
		t.Errorf("%v allocations for each tap", n)
	}
}
