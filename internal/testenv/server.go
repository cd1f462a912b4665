package testenv

import (
	"os"
	"syscall"
	"time"
)

// Server is a server for one test, which may kill and restart it. Its methods fail the test on an error; call them from
// the test's goroutine. It is gone when the test ends.
type Server struct {
	Addr string // "host:port"; the same after every Start
	URL  string // NATS: the address for clients
	DSN  string // MySQL: an empty database in it, for go-sql-driver

	t T
	p *process
}

// shared returns a server that the tests of this binary share.
func shared(t T, prog program, start func() (*process, error)) *process {
	t.Helper()
	require(t, prog.needs...)
	p, err := start()
	if err != nil {
		t.Fatalf("testenv: start %s: %v", prog.name, err)
	}
	return p
}

// own starts a server for t.
func own(t T, prog program) *Server {
	t.Helper()
	require(t, prog.needs...)
	p, err := launch(prog)
	if err != nil {
		t.Fatalf("testenv: start %s: %v", prog.name, err)
	}
	return owned(t, p)
}

// owned hands a running server over to t.
func owned(t T, p *process) *Server {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of %s at %s:\n%s", p.prog.name, p.port.addr(), p.logTail())
		}
		if err := p.discard(); err != nil {
			t.Errorf("testenv: remove %s: %v", p.prog.name, err)
		}
	})
	return &Server{Addr: p.port.addr(), t: t, p: p}
}

// Kill ends the server at once, as kill -9 does. Its data stay.
func (s *Server) Kill() {
	s.t.Helper()
	s.p.kill()
}

// Stop asks the server to end, and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.check("stop", s.p.stop())
}

// Start starts a killed or stopped server again, on the same port and data, and waits until it serves.
func (s *Server) Start() {
	s.t.Helper()
	s.check("start", s.p.start())
}

// LoseData kills the server if it runs and deletes its data. The next Start starts it empty. (An empty MySQL server has
// the database of DSN, without tables.)
func (s *Server) LoseData() {
	s.t.Helper()
	s.p.kill()
	s.check("lose the data of", s.p.empty())
}

// Freeze stops the server without ending it (SIGSTOP): its connections stay open and nothing answers.
func (s *Server) Freeze() {
	s.t.Helper()
	s.check("freeze", s.p.child.signal(syscall.SIGSTOP))
	// The signal is in flight; a thread that still runs could answer once more.
	pid := s.PID()
	Eventually(s.t, 5*time.Second, "the server is frozen", func() bool { return isFrozen(pid) })
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() {
	s.t.Helper()
	s.check("thaw", s.p.child.signal(syscall.SIGCONT))
}

// PID returns the id of the server's process while it runs, for measurements.
func (s *Server) PID() int { return s.p.child.cmd.Process.Pid }

// Data is the folder that the server keeps its data in.
func (s *Server) Data() string { return s.p.data }

// Log returns all that the server has written.
func (s *Server) Log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.p.log())
	s.check("read the log of", err)
	return string(text)
}

func (s *Server) check(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("testenv: %s %s: %v", what, s.p.prog.name, err)
	}
}
