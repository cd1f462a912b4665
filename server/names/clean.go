package names

import (
	"strings"
	"unicode"
)

// MaxName is how many characters of a name are shown.
const MaxName = 32

// marksInRow is how many combining marks a letter may have: more climb over the lines around it.
const marksInRow = 2

// blank are letters and symbols that look like nothing.
var blank = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // fillers of Hangul
	{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // inherent vowels of Khmer
	{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // a Braille letter without dots
	{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // a filler of Hangul
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // the same, of half the width
	{Lo: 0xFFFC, Hi: 0xFFFD, Stride: 1}, // stand for what cannot be shown
}}

// Clean is what of a name is shown. Somebody with a strange name may play all the same, so nothing is refused: what is
// invisible, turns the direction of the line or breaks it goes, and what is too long is cut. "" where nothing is left.
func Clean(name string) string {
	var b strings.Builder
	chars, marks, space := 0, 0, false
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			space = chars > 0
			continue
		case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S), unicode.Is(blank, r):
			continue // controls, formats (zero width, bidi, tags), private and unassigned ones
		case unicode.Is(unicode.M, r):
			if marks++; marks > marksInRow || chars == 0 {
				continue
			}
		default:
			marks = 0
		}
		if space {
			if chars+1 >= MaxName {
				break
			}
			b.WriteByte(' ')
			chars, space = chars+1, false
		}
		if chars == MaxName {
			break
		}
		b.WriteRune(r)
		chars++
	}
	return b.String()
}
