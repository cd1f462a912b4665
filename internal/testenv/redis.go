package testenv

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Redis returns the address of a redis-server that the tests of this binary share. It keeps an append-only file.
// Tests keep apart by [Namespace]; a test that flushes or kills wants [StartRedis].
func Redis(t T) string {
	t.Helper()
	return shared(t, redisServer, sharedRedis).port.addr()
}

var sharedRedis = sync.OnceValues(func() (*process, error) { return launch(redisServer) })

// StartRedis starts a redis-server for one test. Its append-only file keeps every answered write through Kill: it is
// written before each answer. With the usual "everysec" a write waits up to two seconds in memory while the disk is
// busy. settings are further ones on its command line.
func StartRedis(t T, settings ...string) *Server {
	t.Helper()
	prog := redisServer
	prog.command = func(p *process) (*exec.Cmd, error) {
		return redisCommand(p, append([]string{"--appendfsync", "always"}, settings...)...)
	}
	return own(t, prog)
}

var redisServer = program{
	name:    "redis",
	needs:   []string{"redis-server"},
	command: func(p *process) (*exec.Cmd, error) { return redisCommand(p) },
	probe:   redisAnswers,
}

// StartValkey is StartRedis for Valkey.
func StartValkey(t T) *Server {
	t.Helper()
	prog := redisServer
	prog.name, prog.needs = "valkey", []string{"valkey-server"}
	prog.command = func(p *process) (*exec.Cmd, error) { return serverCommand("valkey-server", p) }
	return own(t, prog)
}

func redisCommand(p *process, more ...string) (*exec.Cmd, error) {
	return serverCommand("redis-server", p, more...)
}

// serverCommand starts a Redis or a Valkey.
func serverCommand(program string, p *process, more ...string) (*exec.Cmd, error) {
	args := []string{
		"--port", p.port.String(), "--bind", loopback, "--dir", p.data, "--daemonize", "no",
		"--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0", // a replica begins its copy at once
	}
	return programCommand(program, append(args, more...)...)
}

// redisAnswers asks for a PONG in the plain words of the protocol. While Redis loads its file it says LOADING.
func redisAnswers(ctx context.Context, p *process) error {
	answer, err := firstLine(ctx, p.port.addr(), "PING\r\n")
	if err == nil && answer != "+PONG" {
		err = fmt.Errorf("PING: %s", answer)
	}
	return err
}

// firstLine connects, sends a line, and returns the first line of the answer.
func firstLine(ctx context.Context, addr, say string) (string, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(say)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
