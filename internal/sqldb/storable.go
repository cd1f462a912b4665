package sqldb

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Storable converts any text of another system, such as a payment's, to readable text for a column of n bytes or
// characters in every database. Bytes of invalid UTF-8, such as lone surrogates, and a NUL are written as \xff and
// \x00. A text that is too long is cut between two characters. Any other text is unchanged.
func Storable(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		piece := s[:size]
		if r == 0 || r == utf8.RuneError && size == 1 {
			piece = fmt.Sprintf(`\x%02x`, s[0])
		}
		if b.Len()+len(piece) > n {
			break
		}
		b.WriteString(piece)
		s = s[size:]
	}
	return b.String()
}
