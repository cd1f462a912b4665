package ws

// plainFrame is a client's complete and usual frame: a text, a ping or a pong.
type plainFrame struct {
	opcode  byte
	payload []byte // unmasked, a part of the bytes that were parsed
	size    int    // of the frame, in bytes
}

// class is the kind of the bytes at the beginning of a buffer.
type class int

const (
	plain   class = iota // a complete plain frame
	partial              // a part of a frame that may be plain
	other                // bytes that the library has to read
)

// parsePlain looks for a plain frame with at most limit bytes of payload at the beginning of b, and unmasks it in
// place. It changes b only for a plain frame.
func parsePlain(b []byte, limit int) (plainFrame, class) {
	if len(b) < 2 {
		return plainFrame{}, partial
	}
	opcode, short := Opcode(b[0]), b[1]&^maskBit
	switch {
	case b[0] != finalBit|opcode || b[1]&maskBit == 0:
		return plainFrame{}, other
	case opcode == OpText && short <= mark16:
	case (opcode == OpPing || opcode == OpPong) && short <= maxShort:
	default:
		return plainFrame{}, other
	}
	h, ok := parseHeader(b)
	switch {
	case !ok:
		return plainFrame{}, partial
	case h.length > uint64(limit): //nolint:gosec // not negative
		return plainFrame{}, other
	case short == mark16 && h.length <= maxShort: // longer than necessary: the library decides
		return plainFrame{}, other
	}
	size := h.size + int(h.length) //nolint:gosec // at most limit
	if len(b) < size {
		return plainFrame{}, partial
	}
	payload := b[h.size:size]
	mask(payload, h.key)
	return plainFrame{opcode: opcode, payload: payload, size: size}, plain
}

// refuseHalfCode changes a close frame with half a code at the beginning of b. The library answers the new frame with
// 1002 (RFC 6455, section 7.1.5). The library would take it for a frame without a code. Such a frame behind one that
// is not plain is left to the library.
func refuseHalfCode(b []byte) {
	if b[0] == finalBit|OpClose && b[1] == maskBit|1 {
		b[0] |= reservedBits
	}
}
