package bench

import (
	"fmt"
	"net"

	"redrain/internal/ws"
)

// run is the loop, until ended is called in it.
func (l *loop) run() error {
	for {
		l.now = l.clock()
		if l.calls() {
			return l.poller.close()
		}
		l.wakeUp()
		next := l.keepPace()
		if len(l.alarms) > 0 {
			next = min(next, l.alarms[0].at)
		}
		if err := l.poller.wait(l.now, next); err != nil {
			l.end()
			l.calls()
			return fmt.Errorf("a loop of players has broken down: %w", err)
		}
	}
}

// wakeUp lets those tap whose time has come.
func (l *loop) wakeUp() {
	for len(l.alarms) > 0 && l.alarms[0].at <= l.now {
		p := l.alarms.pop().p
		p.alarmed = false
		l.tapClosed(p)
	}
}

// admit takes a new connection into the loop and says hello.
func (l *loop) admit(p *player, conn net.Conn, rest []byte, err error) {
	l.now = l.clock()
	if err != nil {
		l.comeBack(p, err)
		return
	}
	if p.sock, err = l.poller.add(conn, func(data []byte, err error) { l.heard(p, data, err) }); err != nil {
		l.comeBack(p, err)
		return
	}
	p.saidAt = l.now
	if err := p.sock.write(p.hello(l.options.Campaigns)); err != nil {
		l.gone(p, err)
		return
	}
	if len(rest) > 0 {
		l.heard(p, rest, nil)
	}
}

// farewell closes the loop's connections as a browser's page does.
func (l *loop) farewell() {
	bye := ws.AppendClientFrame(nil, ws.OpClose, []byte{0x03, 0xE8}) // 1000
	for _, p := range l.players {
		if p.sock != nil {
			_ = p.sock.write(bye) // it is a courtesy
			_ = p.sock.close()
			p.sock, p.joined = nil, false
		}
	}
	l.end()
}
