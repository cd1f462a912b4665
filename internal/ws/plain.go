package ws

import "encoding/binary"

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
	opcode, length, header := Opcode(b[0]), int(b[1]&^maskBit), 2+keyLen
	switch {
	case b[0] != finalBit|opcode || b[1]&maskBit == 0:
		return plainFrame{}, other
	case opcode == OpText && length <= mark16:
	case (opcode == OpPing || opcode == OpPong) && length <= maxShort:
	default:
		return plainFrame{}, other
	}
	long := length == mark16
	if long {
		header += 2
	}
	if len(b) < header {
		return plainFrame{}, partial
	}
	if long {
		length = int(binary.BigEndian.Uint16(b[2:]))
	}
	if length > limit || long && length <= maxShort { // longer than necessary: the library decides
		return plainFrame{}, other
	}
	size := header + length
	if len(b) < size {
		return plainFrame{}, partial
	}
	payload := b[header:size]
	mask(payload, [keyLen]byte(b[header-keyLen:]))
	return plainFrame{opcode: opcode, payload: payload, size: size}, plain
}

// refuseHalfCode changes a close frame with one byte at the beginning of b. Such a frame is invalid, but gorilla
// accepts it. Reserved bits are set, so that gorilla answers 1002 (RFC 6455, section 7.1.5). Such a frame behind one
// that is not plain is left to gorilla.
func refuseHalfCode(b []byte) {
	if b[0] == finalBit|OpClose && b[1] == maskBit|1 {
		b[0] |= reservedBits
	}
}

// mask masks a payload, or undoes that (RFC 6455, section 5.3), eight bytes at a time.
func mask(payload []byte, key [keyLen]byte) {
	word := binary.LittleEndian.Uint32(key[:])
	if word == 0 {
		return
	}
	twice := uint64(word)<<32 | uint64(word)
	for len(payload) >= 8 {
		binary.LittleEndian.PutUint64(payload, binary.LittleEndian.Uint64(payload)^twice)
		payload = payload[8:]
	}
	for i := range payload {
		payload[i] ^= key[i%keyLen]
	}
}
