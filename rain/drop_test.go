package rain_test

import (
	"strconv"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestParseDropAllocatesNothing(t *testing.T) {
	testenv.Equal(t, testing.AllocsPerRun(100, func() { _, _ = rain.ParseDrop("123456.17") }), 0,
		"allocations for each tap")
}

// FuzzParseDrop compares with a slow reading by the standard library.
func FuzzParseDrop(f *testing.F) {
	for _, text := range []string{
		"0.0", "7.3", "10.0", "123456789012345.999999999999999", "", ".", "7", "7.", ".3", "07.3", "7.03", "00.0",
		"+7.3", "7.+3", "-7.3", "7.-3", " 7.3", "7.3 ", "7. 3", "7.3.1", "7,3", "7.3\n", "7.3\x00",
		"7.a", "a.3", "0x7.3", "1e3.1", "7_0.3", "７.３", "٧.٣", "..", "7..3", "1234567890123456.0",
		"0.1234567890123456", "9223372036854775808.0",
		"18446744073709551616.0", strings.Repeat("9", 4_000) + ".1", "1." + strings.Repeat("0", 4_000),
	} {
		f.Add(text)
	}
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s && len(s) <= 15
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, b, _ := strings.Cut(text, ".")
		n, okN := number(a)
		k, okK := number(b)
		want := rain.DropID{N: n, K: int(k)}
		if !okN || !okK {
			want = rain.DropID{}
		}
		id, ok := rain.ParseDrop(text)
		if ok != (okN && okK) || id != want {
			t.Fatalf("%q: %v, %v", text, id, ok)
		}
		if ok && id.String() != text {
			t.Fatalf("%q prints as %q", text, id)
		}
	})
}
