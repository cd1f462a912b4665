package bench

import (
	"encoding/binary"
	"errors"
)

// The frames of WebSocket (RFC 6455, section 5.2), as far as a client of our server needs them.
const (
	opContinuation = 0x0
	opText         = 0x1
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA

	finBit  = 0x80
	maskBit = 0x80

	// maxFrame is the largest frame that is taken for real, in bytes. The largest wave has some 3 KB.
	maxFrame = 1 << 22
)

var errFrame = errors.New("a frame that breaks WebSocket")

// frame is one frame of the server.
type frame struct {
	op    byte
	final bool
	body  []byte // part of the input
}

// nextFrame takes a frame from the front of data. size is how long it is with its header, 0 as long as it is not whole.
func nextFrame(data []byte) (f frame, size int, err error) {
	if len(data) < 2 {
		return f, 0, nil
	}
	f.op, f.final = data[0]&0x0F, data[0]&finBit != 0
	if data[0]&0x70 != 0 || data[1]&maskBit != 0 { // reserved bits; a server masks nothing
		return f, 0, errFrame
	}
	length, header := uint64(data[1]), 2
	switch length {
	case 126:
		header = 4
		if len(data) < header {
			return f, 0, nil
		}
		length = uint64(binary.BigEndian.Uint16(data[2:]))
	case 127:
		header = 10
		if len(data) < header {
			return f, 0, nil
		}
		length = binary.BigEndian.Uint64(data[2:])
	}
	if length > maxFrame {
		return f, 0, errFrame
	}
	size = header + int(length)
	if len(data) < size {
		return f, 0, nil
	}
	f.body = data[header:size]
	return f, size, nil
}

// makeFrame is a whole frame of a client. The mask is zero, which the protocol allows: it guards proxies against the
// scripts of browsers, costs the server the same, and the client nothing.
func makeFrame(op byte, body []byte) []byte {
	to := append(make([]byte, 0, len(body)+8), finBit|op)
	switch n := len(body); {
	case n < 126:
		to = append(to, maskBit|byte(n))
	default: // hello with its token; nothing is longer than wire.MaxRequest
		to = append(to, maskBit|126, byte(n>>8), byte(n)) //nolint:gosec // two bytes hold it
	}
	to = append(to, 0, 0, 0, 0)
	return append(to, body...)
}

// closeReason is what a close frame says: its code, 1005 where there is none, and the words behind it.
func closeReason(body []byte) (code int, reason string) {
	const noStatus = 1005
	if len(body) < 2 {
		return noStatus, ""
	}
	return int(binary.BigEndian.Uint16(body)), string(body[2:])
}
