// Package ws is the server's part of the WebSocket codec of RFC 6455. The WebSocket library performs the upgrade,
// reads unusual frames, and makes the pongs. This package makes and reads all others.
//
//	frame.go  frames of a server, written
//	plain.go  plain frames of a client, parsed
//	conn.go   a connection below the library
//	read.go   plain frames, read from the socket of a Conn
//
// # Reading on the server
//
// A tap storm is millions of small frames that are complete, masked, unfragmented and alone in their packet. Reading
// one through net.Conn takes two system calls: one that gets it, and one that finds nothing more before the goroutine
// is parked. Conn.ReadPlain takes one: a read that did not fill the buffer has drained the socket, and the goroutine
// is parked at once. It wakes when new bytes have come (epoll's edge). A connection holds no buffer while it is
// silent. The second call, and the work of gorilla and bufio for each frame, was a third of the gateway's work for
// incoming messages.
//
// The first frame that is not plain ends ReadPlain for that connection. It is a fragment, a close, a binary frame,
// one that is too large or breaks the protocol. Its bytes go back to the connection, and the library reads on from
// there. So the library detects violations of the protocol, except a close frame with half a code. This package only
// recognises plain frames.
package ws
