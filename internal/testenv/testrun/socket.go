package testrun

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// SlotsVariable is the environment variable with the path of the scheduler's socket.
const SlotsVariable = "REDRAIN_TEST_SLOTS"

// Serve grants slots to the clients of a listener until it is closed, and waits for the connections that are open. A
// connection is one slot. The client sends a [Request] as a line of JSON, and receives an empty line when the slot is
// granted. It closes the connection to release the slot.
func (s *Scheduler) Serve(l net.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a client for a slot: %w", err)
		}
		clients.Go(func() { s.serve(conn) })
	}
}

// serve holds one slot for a client.
func (s *Scheduler) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var r Request
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		return // the client reports that the connection was closed
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer cancel()
		_, _ = io.Copy(io.Discard, in) // until the client closes its end
	}()
	release, err := s.Acquire(ctx, r)
	if err != nil {
		<-gone
		return
	}
	defer release()
	if _, err := conn.Write([]byte("\n")); err != nil {
		return
	}
	<-gone
}

// Client asks the scheduler of another process for slots.
type Client struct{ path string }

// Connect returns a client of the scheduler that serves the socket at path.
func Connect(path string) *Client { return &Client{path} }

// Acquire is [Scheduler.Acquire] in the other process.
func (c *Client) Acquire(ctx context.Context, r Request) (release func(), err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, fmt.Errorf("ask for a slot: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	line, err := json.Marshal(r)
	if err == nil {
		_, err = conn.Write(append(line, '\n'))
	}
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("ask for a slot: %w", errors.Join(err, ctx.Err()))
	}
	return func() { _ = conn.Close() }, nil
}
