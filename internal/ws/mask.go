package ws

import "encoding/binary"

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
