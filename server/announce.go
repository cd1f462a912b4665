package server

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	"redrain/internal/sandbox/wechat"
	"redrain/server/config"
)

// announce prints the addresses of the process, and where it stores data, for an operator who has started it by hand.
func (s *Server) announce() {
	base := s.baseURL()
	var b strings.Builder
	b.WriteString("\nredrain is up.\n\n")
	if s.cfg.Has(config.RoleGateway) {
		fmt.Fprintf(&b, "  play      %s/\n", base)
		if public := s.cfg.PublicRoot(); public != "" {
			fmt.Fprintf(&b, "            %s/   (from outside)\n", public)
		}
		if phone := s.lanURL(); phone != "" {
			fmt.Fprintf(&b, "            %s/   (a phone on the same network)\n", phone)
		}
		fmt.Fprintf(&b, "  screen    %s/screen\n", base)
		if s.play != nil {
			fmt.Fprintf(&b, "  payments  %s%s   (simulated WeChat, PLAY MONEY)\n", base, wechat.PagePath)
		}
	}
	const lost = "; LOST when it ends"
	redisLost, stream, ledger := lost, "in this process (a real server, in a temporary directory)"+lost,
		"in this process (SQLite, in a temporary file)"+lost
	if dir := s.back.dir; dir != nil {
		redisLost = "; restored at start from the ledger and the stream"
		stream, ledger = "in this process (a real server), kept in "+dir.NATS(),
			"in this process (SQLite), kept in "+dir.Ledger()
	}
	fragment := ""
	if s.cfg.InProcess() {
		fragment = "#token=" + s.cfg.OperatorToken
	}
	fmt.Fprintf(&b, "  console   %s/console%s\n", base, fragment)
	fmt.Fprintf(&b, "  API       %s/docs\n", base)
	if s.admin != nil {
		fmt.Fprintf(&b, "  metrics   http://%s/metrics\n", s.admin.listener.Addr())
	}
	b.WriteString("\n")
	for _, line := range []struct{ what, flag, given, own string }{
		{"packets and wins in Redis", "--redis", s.cfg.Redis,
			"in this process (an in-process Redis)" + redisLost},
		{"wins in flight in NATS JetStream", "--nats", s.cfg.NATS, stream},
		{"the ledger in MySQL", "--mysql", s.cfg.MySQL, ledger},
	} {
		where := "at the server given with " + line.flag
		if line.given == "" {
			where = line.own
		}
		fmt.Fprintf(&b, "  %-36s %s\n", line.what, where)
	}
	_, _ = fmt.Fprintln(s.out, b.String()) // if this fails, there is no reader
	build := ReadBuild()
	s.log.Info("serving", "version", build.Version, "revision", build.Revision, "listen", s.Addr().String(), "roles",
		s.cfg.Roles, "in_process", s.cfg.InProcess(), "confirm", s.cfg.ConfirmMode())
}

// joinURL returns the address of the server for phones; "" if it is unknown.
func (s *Server) joinURL() string { return cmp.Or(s.cfg.PublicRoot(), s.lanURL()) }

// lanURL returns the address for a phone on the same network; "" if the server listens on this machine only.
func (s *Server) lanURL() string {
	host, port, err := net.SplitHostPort(s.Addr().String())
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return ""
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return s.scheme() + net.JoinHostPort(n.IP.String(), port)
		}
	}
	return ""
}

// scheme returns the URL scheme of the server.
func (s *Server) scheme() string {
	if s.cfg.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// baseURL returns the address for a browser on this machine.
func (s *Server) baseURL() string {
	host, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		return s.scheme() + s.Addr().String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return s.scheme() + net.JoinHostPort(host, port)
}
