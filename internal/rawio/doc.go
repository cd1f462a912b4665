// Package rawio sends to and receives from sockets that do not block, without the runtime's preparations for a
// system call that may. A goroutine that enters one gives its processor away as soon as it has been in there for 20
// µs; on a machine with more to do than processors that happens in the middle of many a short write, and the
// runtime's monitor, which finds such goroutines, stays awake at 50,000 times a second: 5 % of a gateway in a
// storm. These calls end by themselves in a few microseconds.
//
// On systems other than Linux, which want system calls to go through their library, it is the plain calls.
package rawio
