package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"redrain/internal/testenv"
)

// word is a JSON value that a program may stumble over.
func word(r *rand.Rand) string {
	texts := testenv.HostileTexts()
	switch r.IntN(12) {
	case 0:
		return strconv.FormatInt(r.Int64()-r.Int64(), 10)
	case 1:
		return fmt.Sprint(r.NormFloat64() * 1e300)
	case 2:
		return []string{"null", "true", "false", "{}", "[]", `""`, "-0", "1e999", "0x1", "NaN", "00", "1."}[r.IntN(12)]
	case 3:
		deep := 1 << r.IntN(12)
		return strings.Repeat("[", deep) + strings.Repeat("]", r.IntN(deep+1))
	case 4:
		deep := 1 << r.IntN(9)
		return strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep)
	case 5:
		return `"` + strings.Repeat("x", 1<<r.IntN(13)) + `"`
	case 6:
		return `"\u` + []string{"d800", "dc00", "0000", "FFFE", "d83d\\ude00", "12", "zzzz"}[r.IntN(7)] + `"`
	default:
		text := texts[r.IntN(len(texts))]
		return quoteRaw(text[:min(len(text), 3000)])
	}
}

// object is a JSON object of fields, as they are or with other values, names, twice, or without some.
func object(r *rand.Rand, fields map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(mapKeys(fields)) {
		value := fields[name]
		switch r.IntN(8) {
		case 0:
			value = word(r)
		case 1:
			if r.IntN(3) == 0 {
				continue
			}
		case 2:
			parts = append(parts, strconv.Quote(name)+":"+word(r))
		case 3:
			if r.IntN(4) == 0 {
				name = strings.ToUpper(name)
			}
		}
		parts = append(parts, strconv.Quote(name)+":"+value)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return mangle(r, "{"+strings.Join(parts, ",")+"}")
}

func mapKeys(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// mangle leaves a text as it is more often than not; else it is cut, doubled, or some of its bytes are others.
func mangle(r *rand.Rand, text string) string {
	if text == "" {
		return text
	}
	b := []byte(text)
	switch r.IntN(12) {
	case 0:
		return text[:r.IntN(len(text))]
	case 1:
		return text + text
	case 2:
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		return string(b)
	case 3:
		at := r.IntN(len(b))
		return string(slices.Concat(b[:at], []byte(word(r)), b[at:]))
	}
	return text
}
