// Package ws is the WebSocket codec of RFC 6455, for the server and for the simulated players that load it. The
// WebSocket library makes the upgrade and reads what is unusual; all other frames are made and read here.
//
//	opcode.go  the first byte of a frame
//	header.go  headers, read and written
//	mask.go    masking of payloads
//	close.go   payloads of close frames
//	frame.go   whole frames: a server's read, a client's written
//	plain.go   which of a client's frames are plain
//	conn.go    a connection below the library
//	read.go    plain frames, read from the socket of a Conn
//
// # Reading on the server
//
// A tap storm is millions of small frames that are whole, masked, unfragmented and alone in their packet. To read
// one through net.Conn takes two system calls: one that gets it, and one that finds nothing more before the
// goroutine is parked. Conn.ReadPlain takes one: a read that did not fill the buffer has drained the socket, and
// the goroutine is parked at once; it wakes when something new has come (epoll's edge). A connection holds no
// buffer while it is silent. Together with what gorilla and bufio spend on a frame, that was a third of the
// gateway's work on the way in.
//
// The first frame that is not plain (a fragment, a close, a binary one, one that is too large or breaks the
// protocol) ends ReadPlain for that connection. Its bytes go back to the connection, and the library reads on from
// there. So the library decides what breaks the protocol (but for a close frame with half a code); this package only
// recognises plain frames.
package ws
