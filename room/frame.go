package room

import (
	"encoding/binary"

	"github.com/gorilla/websocket"
)

const (
	// joinMax is the size up to which queued messages are joined in one frame, in bytes. A frame costs a system call,
	// which is most of the cost of a message.
	joinMax = 32 << 10
	// maxHeader is the size of the longest header of a server's frame, in bytes.
	maxHeader = 10
	// final marks a frame that is a whole message, as all are that a member writes.
	final = 0x80
)

// pingFrame is a ping without a payload.
var pingFrame = []byte{final | websocket.PingMessage, 0}

// frame is one message on its way to a member, or to many. It is small, and copied: a message to one member is not
// worth an allocation for each lane that it stands in.
type frame struct {
	bytes  []byte
	header int // so many of the bytes are a frame's header, before the message; 0: the bytes are the message alone
}

// sharedFrame is a frame for many members: its bytes on the wire are made once, here.
func sharedFrame(message []byte) frame {
	wire := appendHeader(make([]byte, 0, maxHeader+len(message)), websocket.TextMessage, len(message))
	header := len(wire)
	return frame{bytes: append(wire, message...), header: header}
}

func (f frame) message() []byte { return f.bytes[f.header:] }

// appendHeader appends the header of a frame of n bytes, as RFC 6455 has it in 5.2: a server does not mask.
func appendHeader(wire []byte, opcode byte, n int) []byte {
	switch {
	case n < 126:
		return append(wire, final|opcode, byte(n)) //nolint:gosec // less than 126
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(wire, final|opcode, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(wire, final|opcode, 127), uint64(n))
	}
}

// appendClose appends a close frame. The code and the reason are at most 125 bytes, so that the header is two.
func appendClose(wire []byte, code int, reason string) []byte {
	payload := websocket.FormatCloseMessage(code, reason)
	return append(appendHeader(wire, websocket.CloseMessage, len(payload)), payload...)
}

// appendMessages appends one text frame with all messages, a newline between two of them.
func appendMessages(wire []byte, frames []frame) []byte {
	size := len(frames) - 1
	for _, f := range frames {
		size += len(f.message())
	}
	wire = appendHeader(wire, websocket.TextMessage, size)
	for i, f := range frames {
		if i > 0 {
			wire = append(wire, '\n')
		}
		wire = append(wire, f.message()...)
	}
	return wire
}
