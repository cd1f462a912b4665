package names

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// MaxName is the number of shown characters of a name.
const MaxName = 32

// marksInRow is the number of combining marks in a row. More would overlap the lines around them.
const marksInRow = 2

// blank are invisible characters.
var blank = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // fillers of Hangul
	{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // inherent vowels of Khmer
	{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille without dots
	{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // a filler of Hangul
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // the same, of half the width
	{Lo: 0xFFFC, Hi: 0xFFFD, Stride: 1}, // replacement characters
}}

// Clean returns a name as it is shown. No name is refused: invisible characters, line breaks and changes of direction
// are removed, and a long name is cut. It returns "" if nothing is left.
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

// maxAvatar is the longest address, in bytes. WeChat's have some 140.
const maxAvatar = 200

// hostPattern matches a DNS name, or all names below one.
var hostPattern = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,62}$`)

// Hosts are the hosts of avatars: img.example.com, or *.example.com for all names below it.
type Hosts []string

// Check returns an error for the first invalid host.
func (h Hosts) Check() error {
	for _, host := range h {
		if !hostPattern.MatchString(host) {
			return fmt.Errorf("%q: give a host in small letters, as img.example.com, or *.example.com for all below it",
				host)
		}
	}
	return nil
}

// Sources returns the hosts as sources of a Content-Security-Policy.
func (h Hosts) Sources() []string {
	sources := make([]string, len(h))
	for i, host := range h {
		sources[i] = "https://" + host
	}
	return sources
}

// Avatar returns the address of an avatar as it may be shown, or "".
func (h Hosts) Avatar(address string) string {
	if len(address) > maxAvatar {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || u.Opaque != "" || !h.have(u.Hostname()) {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	is := u.String()
	if len(is) > maxAvatar { // escaped, it is longer
		return ""
	}
	return is
}

func (h Hosts) have(name string) bool {
	name = strings.ToLower(name)
	for _, host := range h {
		if below, wild := strings.CutPrefix(host, "*"); name == host || wild && strings.HasSuffix(name, below) &&
			len(name) > len(below) {
			return true
		}
	}
	return false
}
