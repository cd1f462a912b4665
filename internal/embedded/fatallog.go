package embedded

import (
	"fmt"
	"sync"
)

// fatalLog is a logger for the NATS server that keeps only the reason of a fatal error.
type fatalLog struct {
	mu  sync.Mutex
	err error
}

// reason returns the reason of the server's failure, or nil.
func (l *fatalLog) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Fatalf records the reason. The server's own logger would end the process.
func (l *fatalLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = fmt.Errorf(format, v...)
}

// Noticef does nothing.
func (*fatalLog) Noticef(string, ...any) {}

// Warnf does nothing.
func (*fatalLog) Warnf(string, ...any) {}

// Errorf does nothing.
func (*fatalLog) Errorf(string, ...any) {}

// Debugf does nothing.
func (*fatalLog) Debugf(string, ...any) {}

// Tracef does nothing.
func (*fatalLog) Tracef(string, ...any) {}
