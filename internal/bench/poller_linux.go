package bench

import (
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"redrain/internal/rawio"
)

const (
	eventsAtOnce = 256
	readAtOnce   = 64 << 10
)

// epoll is Linux's poller: raw sockets, no goroutine for any of them. A tap then costs a write, a read, and a part
// of a wait.
type epoll struct {
	fd      int
	wakeup  int          // an eventfd
	timer   int          // a timerfd: epoll itself waits in whole milliseconds
	set     int64        // when the timer goes off, on the loop's clock
	sockets []*rawSocket // by the number that their events carry
	free    []int32
	events  [eventsAtOnce]unix.EpollEvent
	buf     [readAtOnce]byte
}

// The numbers of the events that are no socket's.
const (
	wakeupSlot = iota
	timerSlot
	firstSlot
)

// newPoller is the leanest poller of this system.
func newPoller() (poller, error) {
	e := &epoll{fd: -1, wakeup: -1, timer: -1, sockets: make([]*rawSocket, firstSlot)}
	var err error
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		e.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err == nil {
		e.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	}
	// Edge-triggered: they are only to end a wait, and nobody has to read them for that.
	if err == nil {
		err = e.watch(unix.EPOLL_CTL_ADD, e.wakeup, wakeupSlot, unix.EPOLLIN|unix.EPOLLET)
	}
	if err == nil {
		err = e.watch(unix.EPOLL_CTL_ADD, e.timer, timerSlot, unix.EPOLLIN|unix.EPOLLET)
	}
	if err != nil {
		return nil, fmt.Errorf("making an epoll: %w", errors.Join(err, e.close()))
	}
	return e, nil
}

func (e *epoll) watch(op, fd int, slot int32, events uint32) error {
	return unix.EpollCtl(e.fd, op, fd, &unix.EpollEvent{Events: events, Fd: slot})
}

func (e *epoll) add(conn net.Conn, heard func([]byte, error)) (socket, error) {
	fd, err := takeOver(conn)
	if err != nil {
		return nil, err
	}
	slot := int32(len(e.sockets)) //nolint:gosec // no more than there may be files
	if n := len(e.free); n > 0 {
		slot, e.free = e.free[n-1], e.free[:n-1]
	} else {
		e.sockets = append(e.sockets, nil)
	}
	s := &rawSocket{poller: e, fd: fd, slot: slot, heard: heard}
	e.sockets[slot] = s
	if err := e.watch(unix.EPOLL_CTL_ADD, fd, slot, unix.EPOLLIN); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// takeOver takes the file out of a connection, so that Go's own poller, which would be woken by each byte as well,
// has nothing to do with it any more.
func takeOver(conn net.Conn) (int, error) {
	defer conn.Close() //nolint:errcheck // the file lives on under another number
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return -1, fmt.Errorf("%T is not a TCP connection", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var failed error
	err = raw.Control(func(number uintptr) {
		fd, failed = unix.FcntlInt(number, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, failed)
}

func (e *epoll) wait(now, until int64) error {
	timeout := -1
	switch {
	case until <= now:
		timeout = 0
	case until != e.set: // else it is set already: it goes off no sooner than then, and has not yet
		spec := unix.ItimerSpec{} // never: it is switched off
		if until != never {
			spec.Value = unix.NsecToTimespec(until - now)
		}
		if err := unix.TimerfdSettime(e.timer, 0, &spec, nil); err != nil {
			return fmt.Errorf("setting a timer: %w", err)
		}
		e.set = until
	}
	n, err := unix.EpollWait(e.fd, e.events[:], timeout)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for sockets: %w", err)
	}
	for i := range max(n, 0) {
		ev := &e.events[i]
		if s := e.sockets[ev.Fd]; s != nil { // nil: no socket's, or closed by an event before this one
			s.ready(ev.Events)
		}
	}
	return nil
}

func (e *epoll) wake() {
	_, _ = unix.Write(e.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it counts to 2^64 before it fails
}

func (e *epoll) close() error {
	var errs []error
	for _, s := range e.sockets {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	for _, fd := range []int{e.wakeup, e.timer, e.fd} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// rawSocket is a socket of epoll.
type rawSocket struct {
	poller *epoll
	fd     int
	slot   int32
	heard  func(data []byte, err error)
	out    []byte // what the system did not take
	muted  bool
}

// ready does what the events are about.
func (s *rawSocket) ready(events uint32) {
	if events&unix.EPOLLOUT != 0 {
		if err := s.flush(); err != nil {
			s.heard(nil, err)
			return
		}
	}
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) == 0 {
		return
	}
	n, err := rawio.Receive(s.fd, s.poller.buf[:])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR): // the next wait says it again
	case err != nil:
		s.heard(nil, err)
	case n == 0:
		s.heard(nil, io.EOF)
	default:
		s.heard(s.poller.buf[:n], nil) // should there be more, the next wait says so
	}
}

func (s *rawSocket) write(b []byte) error {
	if len(s.out) > 0 {
		s.out = append(s.out, b...)
		return nil
	}
	n, err := writeSome(s.fd, b)
	if err != nil || n == len(b) {
		return err
	}
	s.out = append(s.out, b[n:]...)
	return s.poller.watch(unix.EPOLL_CTL_MOD, s.fd, s.slot, s.events())
}

func (s *rawSocket) flush() error {
	n, err := writeSome(s.fd, s.out)
	if err != nil {
		return err
	}
	if s.out = s.out[n:]; len(s.out) > 0 {
		return nil
	}
	s.out = nil
	return s.poller.watch(unix.EPOLL_CTL_MOD, s.fd, s.slot, s.events())
}

func (s *rawSocket) events() uint32 {
	events := uint32(0)
	if !s.muted {
		events |= unix.EPOLLIN
	}
	if len(s.out) > 0 {
		events |= unix.EPOLLOUT
	}
	return events
}

// writeSome writes what the system takes.
func writeSome(fd int, b []byte) (int, error) {
	n, err := rawio.Send(fd, b)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return n, err
}

func (s *rawSocket) mute() error {
	s.muted = true
	return s.poller.watch(unix.EPOLL_CTL_MOD, s.fd, s.slot, s.events())
}

func (s *rawSocket) close() error {
	s.poller.sockets[s.slot] = nil
	s.poller.free = append(s.poller.free, s.slot)
	return unix.Close(s.fd) // and epoll forgets it
}
