package room

import "redrain/internal/ws"

// joinMax is the size up to which queued messages are joined in one frame, in bytes. A frame costs a system call,
// which is most of the cost of a message.
const joinMax = 32 << 10

// pingFrame is a ping without a payload.
var pingFrame = ws.AppendHeader(nil, ws.OpPing, 0)

// frame is one message to one or many members. It is small, and copied: a message to one member is not worth an
// allocation for each lane.
type frame struct {
	bytes  []byte
	header int // length of a frame's header before the message; 0: the bytes are the message only
}

// sharedFrame is a frame for many members: its bytes on the wire are made once, here.
func sharedFrame(message []byte) frame {
	wire := ws.AppendHeader(make([]byte, 0, ws.MaxHeader+len(message)), ws.OpText, len(message))
	header := len(wire)
	return frame{bytes: append(wire, message...), header: header}
}

func (f frame) message() []byte { return f.bytes[f.header:] }

// appendMessages appends one text frame with all messages, a newline between two of them.
func appendMessages(wire []byte, frames []frame) []byte {
	size := len(frames) - 1
	for _, f := range frames {
		size += len(f.message())
	}
	wire = ws.AppendHeader(wire, ws.OpText, size)
	for i, f := range frames {
		if i > 0 {
			wire = append(wire, '\n')
		}
		wire = append(wire, f.message()...)
	}
	return wire
}

// keptBuffer is the largest buffer that a batch keeps between time slices, in bytes.
const keptBuffer = 2 * joinMax

// batch holds the output of one time slice: control frames, and one frame with all messages.
type batch struct {
	ping    bool
	control []byte
	frames  []frame
	buffer  []byte // for the bytes on the wire
}

// assemble returns the bytes of a time slice. They are valid until the next call.
func (b *batch) assemble() []byte {
	if len(b.frames) == 1 && b.frames[0].header > 0 && !b.ping && b.control == nil {
		return b.frames[0].bytes
	}
	if cap(b.buffer) > keptBuffer {
		b.buffer = nil
	}
	b.buffer = b.buffer[:0]
	if b.ping {
		b.buffer = append(b.buffer, pingFrame...)
	}
	b.buffer = append(b.buffer, b.control...)
	if len(b.frames) > 0 {
		b.buffer = appendMessages(b.buffer, b.frames)
	}
	return b.buffer
}
