package ws

import (
	"errors"
	"slices"
)

// ErrFrame is returned for a server's frame that breaks the protocol or is larger than the limit.
var ErrFrame = errors.New("a frame that breaks WebSocket")

// Frame is a frame of a server.
type Frame struct {
	Opcode  byte
	Final   bool   // the last frame of its message
	Payload []byte // a part of the bytes that were parsed
}

// ParseFrame parses a server's frame with at most limit bytes of payload at the beginning of b. It returns the number
// of bytes of the frame, 0 while a part of it is missing. It does not check the opcode and the order of fragments.
func ParseFrame(b []byte, limit int) (f Frame, size int, err error) {
	if len(b) >= 2 && (b[0]&reservedBits != 0 || b[1]&maskBit != 0) { // a server does not mask
		return f, 0, ErrFrame
	}
	h, ok := parseHeader(b)
	if !ok {
		return f, 0, nil
	}
	if h.length > uint64(limit) { //nolint:gosec // not negative
		return f, 0, ErrFrame
	}
	size = h.size + int(h.length) //nolint:gosec // at most limit
	if len(b) < size {
		return f, 0, nil
	}
	return Frame{Opcode: h.opcode, Final: h.final, Payload: b[h.size:size]}, size, nil
}

// AppendClientFrame appends a client's frame. Its masking key is zero, which the protocol allows: masks guard proxies
// against scripts of browsers. This key costs a simulated player nothing and the server the same.
func AppendClientFrame(to []byte, opcode byte, payload []byte) []byte {
	to = slices.Grow(to, MaxHeader+keyLen+len(payload))
	to = append(appendHeader(to, opcode, len(payload), maskBit), 0, 0, 0, 0)
	return append(to, payload...)
}
