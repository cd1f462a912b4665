// Package rawio sends to and receives from non-blocking sockets, without the runtime's preparations for a system
// call that may block. A goroutine that enters such a call gives its processor away once it has been in there for
// 20 µs. On a machine with more to do than processors that happens in the middle of many a short write, and the
// runtime's monitor, which finds such goroutines, then wakes 50,000 times a second: 5 % of a gateway in a storm.
// The calls made here end by themselves in a few microseconds.
//
// Systems other than Linux want system calls to go through their library; there these are the plain calls.
package rawio
