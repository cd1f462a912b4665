// Package rawio sends to and receives from non-blocking sockets, without the runtime's preparations for a system call
// that may block. A goroutine that enters such a call loses its processor after 20 µs. On a loaded machine this
// happens in the middle of many short writes. The runtime's monitor, which finds such goroutines, then wakes 50,000
// times a second: 5 % of a gateway in a storm. The calls made here end by themselves in a few microseconds.
//
// Systems other than Linux require system calls through their library; there these are the plain calls.
package rawio
