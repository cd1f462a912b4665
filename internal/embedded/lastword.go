package embedded

import (
	"fmt"
	"sync"
)

// lastWord is a logger for the NATS server that keeps only the reason of a fatal error.
type lastWord struct {
	mu  sync.Mutex
	err error
}

// reason returns why the server gave up, nil if it has not.
func (l *lastWord) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Fatalf notes the reason. The server's own logger would end the process.
func (l *lastWord) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = fmt.Errorf(format, v...)
}

// Noticef does nothing.
func (*lastWord) Noticef(string, ...any) {}

// Warnf does nothing.
func (*lastWord) Warnf(string, ...any) {}

// Errorf does nothing.
func (*lastWord) Errorf(string, ...any) {}

// Debugf does nothing.
func (*lastWord) Debugf(string, ...any) {}

// Tracef does nothing.
func (*lastWord) Tracef(string, ...any) {}
