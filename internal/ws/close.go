package ws

import (
	"encoding/binary"
	"unicode/utf8"
)

// Close codes of RFC 6455, section 7.4.1, that are in no frame: they report to a program how a connection has ended.
const (
	CloseNoStatus = 1005 // the peer's close frame has no code
	CloseAbnormal = 1006 // the connection was lost without a close frame
)

// maxReason is the longest reason that fits a close frame beside its code, in bytes.
const maxReason = maxShort - 2

// AppendClose appends a server's close frame. A reason of more than 123 bytes is cut between two characters.
func AppendClose(to []byte, code int, reason string) []byte {
	reason = shorten(reason, maxReason)
	to = AppendHeader(to, OpClose, 2+len(reason))
	to = binary.BigEndian.AppendUint16(to, uint16(code)) //nolint:gosec // RFC 6455 has codes below 5000
	return append(to, reason...)
}

// ParseClose reads the payload of a close frame. A payload without a code gives CloseNoStatus.
func ParseClose(payload []byte) (code int, reason string) {
	if len(payload) < 2 {
		return CloseNoStatus, ""
	}
	return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
