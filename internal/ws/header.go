package ws

import "encoding/binary"

const (
	maxShort = 125 // the longest payload whose length fits the second byte, and the longest of a control frame
	mark16   = 126 // in place of that length: the next two bytes hold the length
	mark64   = 127 // in place of that length: the next eight bytes hold the length
	keyLen   = 4

	// MaxHeader is the size of the longest header that a server writes, in bytes.
	MaxHeader = 2 + 8
)

// header is a frame's header.
type header struct {
	final  bool
	opcode byte
	masked bool
	key    [keyLen]byte
	length uint64 // of the payload, in bytes
	size   int    // of the header, in bytes
}

// parseHeader reads the header at the beginning of b. It reports false while a part of the header is missing.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < 2 {
		return h, false
	}
	h.final, h.opcode = b[0]&finalBit != 0, Opcode(b[0])
	h.masked = b[1]&maskBit != 0
	h.length, h.size = uint64(b[1]&^maskBit), 2
	switch h.length {
	case mark16:
		if h.size = 4; len(b) < h.size {
			return h, false
		}
		h.length = uint64(binary.BigEndian.Uint16(b[2:]))
	case mark64:
		if h.size = 10; len(b) < h.size {
			return h, false
		}
		h.length = binary.BigEndian.Uint64(b[2:])
	}
	if h.masked {
		if h.size += keyLen; len(b) < h.size {
			return h, false
		}
		h.key = [keyLen]byte(b[h.size-keyLen:])
	}
	return h, true
}

// AppendHeader appends the header of a server's unmasked frame, with n bytes of payload.
func AppendHeader(to []byte, opcode byte, n int) []byte { return appendHeader(to, opcode, n, 0) }

// appendHeader appends a header up to the masking key. mask is maskBit or zero.
func appendHeader(to []byte, opcode byte, n int, mask byte) []byte {
	switch {
	case n <= maxShort:
		return append(to, finalBit|opcode, mask|byte(n)) //nolint:gosec // at most 125
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(to, finalBit|opcode, mask|mark16), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(to, finalBit|opcode, mask|mark64), uint64(n))
	}
}
