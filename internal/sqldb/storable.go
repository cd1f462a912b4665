package sqldb

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Storable makes of any text one that every database stores in a column of n bytes or characters, and people can read:
// what somebody else has said of a payment. A byte that is no UTF-8, of which lone surrogates consist, and
// a NUL are written as \xff and \x00; what is too long is cut between two characters. A text without such things is
// itself.
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
