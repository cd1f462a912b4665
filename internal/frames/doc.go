// Package frames reads the WebSocket frames that clients usually send straight from the socket, without a buffer
// for each connection and with one system call for each, and leaves everything else to the library.
//
// A tap storm is millions of small frames that are whole, masked, unfragmented and alone in their packet. Reading
// one through net.Conn takes two system calls: one that gets it, and one that finds nothing more before the
// goroutine is parked. Here a read that did not fill the buffer has drained the socket, and the goroutine is parked
// at once; it wakes when something new has come (epoll's edge). Measured with what gorilla and bufio spend on a
// frame, that is a third of the gateway's work on the way in.
//
// The first frame that is anything but a whole message, a ping or a pong (a fragment, a close, a binary one, one
// that is too large or breaks the protocol) ends it for that connection: its bytes are given back to the
// connection, and the library reads on as if nothing had been. So there is one judge of the protocol, and this
// package need only recognise what is plain.
//
// The frames are those of RFC 6455, section 5.2.
package frames
