package ws

import (
	"encoding/binary"
	"unicode/utf8"
)

// Opcodes of RFC 6455, section 5.2.
const (
	OpText  = 0x1
	OpClose = 0x8
	OpPing  = 0x9
	OpPong  = 0xA
)

// CloseAbnormal is the code of a connection that was lost without a close frame. It is in no frame (RFC 6455, section
// 7.4.1).
const CloseAbnormal = 1006

// MaxHeader is the size of the longest header that a server writes, in bytes.
const MaxHeader = 2 + 8

const (
	finalBit     = 0x80 // in a frame's first byte: the frame is the last one of its message
	reservedBits = 0x70 // in a frame's first byte: zero, as no extension is agreed on
	opcodeBits   = 0x0F // in a frame's first byte
	maskBit      = 0x80 // in a frame's second byte: a masking key follows the length

	maxShort  = 125 // the longest payload whose length fits the second byte, and the longest of a control frame
	mark16    = 126 // in place of that length: the next two bytes hold the length
	mark64    = 127 // in place of that length: the next eight bytes hold the length
	keyLen    = 4
	maxReason = maxShort - 2 // the longest reason that fits a close frame beside its code, in bytes
)

// Opcode is the opcode of a frame that begins with the byte first.
func Opcode(first byte) byte { return first & opcodeBits }

// AppendHeader appends the header of a server's unmasked frame, with n bytes of payload.
func AppendHeader(to []byte, opcode byte, n int) []byte {
	switch {
	case n <= maxShort:
		return append(to, finalBit|opcode, byte(n)) //nolint:gosec // at most 125
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(to, finalBit|opcode, mark16), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(to, finalBit|opcode, mark64), uint64(n))
	}
}

// AppendClose appends a server's close frame. A reason of more than 123 bytes is cut between two characters.
func AppendClose(to []byte, code int, reason string) []byte {
	if n := maxReason; len(reason) > n {
		for n > 0 && !utf8.RuneStart(reason[n]) {
			n--
		}
		reason = reason[:n]
	}
	to = AppendHeader(to, OpClose, 2+len(reason))
	to = binary.BigEndian.AppendUint16(to, uint16(code)) //nolint:gosec // RFC 6455 has codes below 5000
	return append(to, reason...)
}
