// Package wstest has inputs of clients for a WebSocket server, with the right answers. They are the cases of the
// Autobahn test suite that concern a server without extensions, and some more.
package wstest

import (
	enc "encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Limit is the longest message that the server under test takes, in bytes.
const Limit = 70_000

// Case is a client's input and the server's answer. Its name begins with Autobahn's number, if it has one.
type Case struct {
	Name  string
	Bytes []byte
	Heard []string // in order: "text …", "ping …", "pong …", "binary …"
	Code  int      // of the server's close frame; Open: there is none; Lost: none, and the connection is over
}

// Values of Case.Code that are no codes.
const (
	Open   = 0
	Lost   = -1
	NoCode = 1005 // the close frame has no code
)

// HalfCode is the name of a case that a server may take for an empty close: its library makes no difference.
const HalfCode = "7.3.2: a close of one byte"

// Frame is a client's frame with this first byte.
func Frame(first byte, payload string, key uint32) []byte {
	return lengthOf(first, uint64(len(payload)), 0, payload, key)
}

// lengthOf is a client's frame that claims a length, in a form of so many bytes; 0: the shortest.
func lengthOf(first byte, length uint64, form int, payload string, key uint32) []byte {
	b := []byte{first}
	switch {
	case form == 8 || length >= 1<<16:
		b = enc.BigEndian.AppendUint64(append(b, 0x80|127), length)
	case form == 2 || length > 125:
		b = enc.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = append(b, 0x80|byte(length))
	}
	b = enc.LittleEndian.AppendUint32(b, key)
	for i := range len(payload) {
		b = append(b, payload[i]^byte(key>>(8*(i%4))))
	}
	return b
}

// First bytes of frames.
const (
	text   = 0x81
	binary = 0x82
	bye    = 0x88
	ping   = 0x89
	pong   = 0x8A
	begin  = 0x01 // a text whose fragments follow
	more   = 0x00
	end    = 0x80
)

// key masks the text.
const key = 0x1badb002

func said(first byte, payload string) []byte { return Frame(first, payload, key) }

func closing(code int, reason string) []byte {
	return said(bye, string(enc.BigEndian.AppendUint16(nil, uint16(code)))+reason)
}

// Cases are all cases.
func Cases() []Case {
	return slices.Concat(lengths(), controls(), reserved(), fragments(), closes(), utf8Texts())
}

func lengths() (all []Case) {
	for _, n := range []int{0, 1, 125, 126, 127, 128, 65535, 65536, Limit} { // 1.1
		m := strings.Repeat("*", n)
		all = append(all, Case{fmt.Sprintf("1.1: %d bytes", n), said(text, m), []string{"text " + m}, Open})
	}
	for _, n := range []int{0, 1, 125} {
		m := strings.Repeat("*", n)
		all = append(all,
			Case{fmt.Sprintf("the length %d in two bytes", n), lengthOf(text, uint64(n), 2, m, key),
				[]string{"text " + m}, Open},
			Case{fmt.Sprintf("the length %d in eight bytes", n), lengthOf(text, uint64(n), 8, m, key),
				[]string{"text " + m}, Open})
	}
	return append(all,
		Case{"one byte too many", said(text, strings.Repeat("*", Limit+1)), nil, 1009},
		Case{"too large in fragments", slices.Concat(said(begin, strings.Repeat("*", Limit)), said(end, "*")),
			nil, 1009},
		Case{"2^32 bytes", lengthOf(text, 1<<32, 8, "", key), nil, 1009},
		Case{"2^63-1 bytes", lengthOf(text, 1<<63-1, 8, "", key), nil, 1009},
		// The library writes no close frame here. The contract has no code for it: no real client can send it.
		Case{"2^63 bytes", lengthOf(text, 1<<63, 8, "", key), nil, Lost},
		Case{"a mask of zeros", Frame(text, "x", 0), []string{"text x"}, Open},
		Case{"no mask", []byte{text, 1, 'x'}, nil, 1002},
		Case{"a ping without a mask", []byte{ping, 1, 'x'}, nil, 1002},
	)
}

func controls() []Case {
	long, tooLong := strings.Repeat("p", 125), strings.Repeat("p", 126)
	return []Case{
		{"2.1: an empty ping", said(ping, ""), []string{"ping "}, Open},
		{"2.3: a ping with bytes", said(ping, "\x00\xff\xfe"), []string{"ping \x00\xff\xfe"}, Open},
		{"2.4: a ping of 125 bytes", said(ping, long), []string{"ping " + long}, Open},
		{"2.5: a ping of 126 bytes", said(ping, tooLong), nil, 1002},
		{"2.7: a pong nobody asked for", said(pong, ""), []string{"pong "}, Open},
		{"2.9: a pong nobody asked for, then a ping", slices.Concat(said(pong, "a"), said(ping, "b")),
			[]string{"pong a", "ping b"}, Open},
		{"2.10: ten pings", slices.Repeat(said(ping, "p"), 10), slices.Repeat([]string{"ping p"}, 10), Open},
		{"a pong of 126 bytes", said(pong, tooLong), nil, 1002},
		{"a ping's length in two bytes", lengthOf(ping, 1, 2, "x", key), nil, 1002},
		{"a ping's length in eight bytes", lengthOf(ping, 1, 8, "x", key), nil, 1002},
	}
}

func reserved() (all []Case) {
	for _, bits := range []byte{0x40, 0x20, 0x10, 0x70} { // 3
		for _, opcode := range []byte{1, 9, 8} {
			all = append(all, Case{fmt.Sprintf("3: bits %#x with opcode %d", bits, opcode),
				slices.Concat(said(text, "first"), said(0x80|bits|opcode, "x"), said(text, "last")),
				[]string{"text first"}, 1002})
		}
	}
	for _, opcode := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} { // 4
		all = append(all, Case{fmt.Sprintf("4: opcode %d", opcode),
			slices.Concat(said(text, "first"), said(0x80|opcode, "x"), said(text, "last")),
			[]string{"text first"}, 1002})
	}
	return all
}

func fragments() []Case {
	join := slices.Concat[[]byte]
	return []Case{
		{"5.1: a ping in fragments", join(said(ping&0x0f, "one"), said(end, "two")), nil, 1002},
		{"5.2: a pong in fragments", join(said(pong&0x0f, "one"), said(end, "two")), nil, 1002},
		{"5.3: a text in fragments", join(said(begin, "one"), said(end, "two")), []string{"text onetwo"}, Open},
		{"5.6: a ping in between", join(said(begin, "one"), said(ping, "p"), said(end, "two")),
			[]string{"ping p", "text onetwo"}, Open},
		{"a pong in between", join(said(begin, "one"), said(pong, "p"), said(end, "two"), said(text, "after")),
			[]string{"pong p", "text onetwo", "text after"}, Open},
		{"5.9: a continuation of nothing", join(said(end, "one"), said(text, "two")), nil, 1002},
		{"5.12: a continuation of nothing, not the last", join(said(more, "one"), said(text, "two")), nil, 1002},
		{"5.15: a continuation after the last", join(said(begin, "one"), said(end, "two"), said(more, "three")),
			[]string{"text onetwo"}, 1002},
		{"5.18: a text within a text", join(said(begin, "one"), said(text, "two")), nil, 1002},
		{"5.19: many fragments and pings", join(said(begin, "1"), said(more, "2"), said(ping, "a"), said(more, ""),
			said(more, "4"), said(ping, "b"), said(end, "5")), []string{"ping a", "ping b", "text 1245"}, Open},
		{"6.1: empty fragments", join(said(begin, ""), said(more, ""), said(end, "")), []string{"text "}, Open},
		{"a close in between", join(said(begin, "one"), closing(1000, "")), nil, 1000},
		{"binary", join(said(text, "one"), said(binary, "b")), []string{"text one", "binary b"}, Open},
	}
}

func closes() (all []Case) {
	first := said(text, "first")
	heard := []string{"text first"}
	for _, code := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999} { // 7.7
		all = append(all, Case{fmt.Sprintf("7.7: code %d", code),
			slices.Concat(first, closing(code, "why"), said(text, "after")), heard, code})
	}
	for _, code := range []int{0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535} { // 7.9, 7.13
		all = append(all, Case{fmt.Sprintf("7.9: code %d", code),
			slices.Concat(first, closing(code, "")), heard, 1002})
	}
	return append(all,
		Case{"7.1.3: a ping after the close", slices.Concat(closing(1000, ""), said(ping, "p")), nil, 1000},
		Case{"7.1.5: the rest of a message after the close",
			slices.Concat(said(begin, "one"), closing(1000, ""), said(end, "two")), nil, 1000},
		Case{"7.3.1: an empty close", slices.Concat(first, said(bye, "")), heard, NoCode},
		Case{HalfCode, slices.Concat(first, said(bye, "x")), heard, 1002},
		Case{"7.3.5: a close of 125 bytes", closing(1000, strings.Repeat("*", 123)), nil, 1000},
		Case{"7.3.6: a close of 126 bytes", closing(1000, strings.Repeat("*", 124)), nil, 1002},
		Case{"7.5.1: a reason that is not UTF-8", closing(1000, "\xce\xba\xed\xa0\x80"), nil, 1002},
		Case{"a close in fragments", said(bye&0x0f, ""), nil, 1002},
	)
}

// utf8Texts have texts at the Limits of UTF-8. The reader of the text checks it, and closes with 1007.
func utf8Texts() (all []Case) {
	for _, m := range []string{"κόσμε", "\x7f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\ufffd", "\uffff",
		"\U00010000", "\U0010ffff", "红包雨"} { // 6.2, 6.5 to 6.23
		half := len(m) / 2
		all = append(all,
			Case{fmt.Sprintf("6.5: %+q", m), said(text, m), []string{"text " + m}, Open},
			Case{fmt.Sprintf("6.2: %+q cut", m), slices.Concat(said(begin, m[:half]), said(end, m[half:])),
				[]string{"text " + m}, Open})
	}
	for _, m := range []string{"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xf0\x80\x80\xaf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe",
		"\xff", "\xce\xba\xe1\xbd", "ok \xce"} { // 6.3, 6.6, 6.10 to 6.21
		all = append(all,
			Case{fmt.Sprintf("6.10: %x", m), said(text, m), nil, 1007},
			Case{fmt.Sprintf("6.3: %x cut", m), slices.Concat(said(begin, m[:1]), said(end, m[1:])), nil, 1007})
	}
	return all
}
