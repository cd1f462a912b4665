package room

import (
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Conn is what a member needs of a connection. *websocket.Conn satisfies it.
type Conn interface {
	WriteMessage(messageType int, data []byte) error
	WritePreparedMessage(*websocket.PreparedMessage) error
	WriteControl(messageType int, data []byte, deadline time.Time) error
	SetWriteDeadline(time.Time) error
	Close() error
}

// joinMax is the size up to which queued messages are joined in one frame, in bytes. A frame costs a system call,
// which is most of the cost of a message.
const joinMax = 32 << 10

// frame is one message on its way to a member, or to many. It is small, and copied: a message to one member is not worth an
// allocation for each lane that it stands in.
type frame struct {
	data     []byte
	prepared *websocket.PreparedMessage // nil for a message to one member
}

// sharedFrame is a frame for many members: its bytes on the wire are made once, here.
func sharedFrame(data []byte) frame {
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, data)
	if err != nil {
		prepared = nil // written as a message of its own each time
	}
	return frame{data: data, prepared: prepared}
}

// joints are the buffers in which messages are joined.
var joints = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// writeFrames writes messages as one text frame, a newline between two of them.
func writeFrames(conn Conn, frames []frame) error {
	if len(frames) == 1 {
		if p := frames[0].prepared; p != nil {
			return conn.WritePreparedMessage(p)
		}
		return conn.WriteMessage(websocket.TextMessage, frames[0].data)
	}
	joint := joints.Get().(*[]byte) //nolint:forcetypeassert // New makes nothing else
	defer joints.Put(joint)
	buf := (*joint)[:0]
	for i, f := range frames {
		if i > 0 {
			buf = append(buf, '\n')
		}
		buf = append(buf, f.data...)
	}
	*joint = buf
	return conn.WriteMessage(websocket.TextMessage, buf)
}
