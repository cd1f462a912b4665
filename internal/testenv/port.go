package testenv

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports come from below the kernel's range for outgoing connections. Otherwise a server that is down for a moment could
// lose its port to a client's connection.
const (
	lowestPort = 20_000
	portCount  = 12_000
)

const loopback = "127.0.0.1"

// port is a TCP port of the loopback address that no other test binary uses, also while its server is down. The
// reservation is the UDP port of the same number: it has no other use, and the kernel frees it when this process dies.
type port struct {
	number      int
	reservation io.Closer
}

// freePort reserves a port. Close the reservation when its server is gone for good.
func freePort() (port, error) {
	for range 1000 {
		n := lowestPort + rand.IntN(portCount)
		address := net.JoinHostPort(loopback, strconv.Itoa(n))
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			_ = udp.Close()
			continue
		}
		if err := tcp.Close(); err != nil {
			_ = udp.Close()
			return port{}, err
		}
		return port{number: n, reservation: udp}, nil
	}
	return port{}, fmt.Errorf("no free port between %d and %d", lowestPort, lowestPort+portCount)
}

// Addr returns an address, host:port, for a server that the test restarts. The port is reserved until the test ends.
func Addr(t *testing.T) string {
	t.Helper()
	p, err := freePort()
	Must(t, err)
	t.Cleanup(p.release)
	return p.addr()
}

func (p port) addr() string { return net.JoinHostPort(loopback, strconv.Itoa(p.number)) }

func (p port) String() string { return strconv.Itoa(p.number) }

func (p port) release() { _ = p.reservation.Close() }
