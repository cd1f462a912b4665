package embedded

import (
	"fmt"
	"sync"
)

// lastWord is a logger of the NATS server that keeps only why it gave up.
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

// Fatalf notes the reason. (The server's own logger would end the process here.)
func (l *lastWord) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = fmt.Errorf(format, v...)
}

// Noticef says nothing.
func (*lastWord) Noticef(string, ...any) {}

// Warnf says nothing.
func (*lastWord) Warnf(string, ...any) {}

// Errorf says nothing.
func (*lastWord) Errorf(string, ...any) {}

// Debugf says nothing.
func (*lastWord) Debugf(string, ...any) {}

// Tracef says nothing.
func (*lastWord) Tracef(string, ...any) {}
