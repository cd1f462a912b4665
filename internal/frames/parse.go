package frames

import "encoding/binary"

// Opcodes of RFC 6455, section 5.2.
const (
	opText = 0x1
	opPing = 0x9
	opPong = 0xA
)

const (
	finalBit  = 0x80 // with an opcode in the same byte; reserved bits are zero in a plain frame
	maskBit   = 0x80 // with a length in the same byte
	shortMost = 125  // the longest payload whose length stands in that byte; longer ones have it in the next two
	longMark  = 126
	keyLen    = 4
	maxHeader = 2 + 2 + keyLen
)

// frame is one plain frame.
type frame struct {
	opcode  byte
	payload []byte // unmasked, in the buffer that it was read into
	size    int    // of the whole frame
}

// What parse has found at the beginning of the bytes.
type found int

const (
	plain   found = iota // a whole plain frame
	partial              // what may become one when more has come
	other                // something that is for the library
)

// parse looks for a plain frame of a client, with at most limit bytes of payload, at the beginning of b, and
// unmasks it there. Nothing is changed where it finds none.
func parse(b []byte, limit int) (frame, found) {
	if len(b) < 2 {
		return frame{}, partial
	}
	opcode, length, header := b[0]&0xf, int(b[1]&^maskBit), 2
	switch {
	case b[0] != finalBit|opcode || b[1]&maskBit == 0:
		return frame{}, other
	case opcode == opText && length == longMark:
		if len(b) < 4 {
			return frame{}, partial
		}
		length, header = int(binary.BigEndian.Uint16(b[2:])), 4
		if length <= shortMost { // allowed or not, it is unusual
			return frame{}, other
		}
	case opcode != opText && opcode != opPing && opcode != opPong, length > shortMost:
		return frame{}, other
	}
	size := header + keyLen + length
	switch {
	case length > limit:
		return frame{}, other
	case len(b) < size:
		return frame{}, partial
	}
	payload := b[header+keyLen : size]
	unmask(payload, [keyLen]byte(b[header:]))
	return frame{opcode: opcode, payload: payload, size: size}, plain
}

// unmask undoes the masking of RFC 6455, section 5.3, eight bytes at a time.
func unmask(payload []byte, key [keyLen]byte) {
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
