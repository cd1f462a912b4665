package bench

import (
	"bytes"
	"encoding/json"
	"strconv"

	"redrain/internal/wire"
	"redrain/internal/ws"
	"redrain/rain"
)

// maxFrame is the largest frame that a player accepts, in bytes. The largest wave has some 3 KB.
const maxFrame = 1 << 22

// heard takes what a socket has got.
func (l *loop) heard(p *player, data []byte, err error) {
	l.now = l.clock()
	if err != nil {
		l.gone(p, err)
		return
	}
	if len(p.in) > 0 {
		p.in = append(p.in, data...)
		data = p.in
	}
	for p.sock != nil {
		f, size, err := ws.ParseFrame(data, maxFrame)
		if err != nil {
			l.gone(p, err)
			return
		}
		if size == 0 {
			break
		}
		data = data[size:]
		l.frame(p, f)
	}
	switch {
	case p.sock == nil:
	case len(data) == 0:
		p.in = nil
	default:
		p.in = append([]byte(nil), data...)
	}
}

func (l *loop) frame(p *player, f ws.Frame) {
	switch f.Opcode {
	case ws.OpText, ws.OpContinuation:
		if f.Final && p.message == nil {
			l.message(p, f.Payload)
			return
		}
		p.message = append(p.message, f.Payload...)
		if f.Final {
			l.message(p, p.message)
			p.message = nil
		}
	case ws.OpPing:
		if err := p.sock.write(ws.AppendClientFrame(nil, ws.OpPong, f.Payload)); err != nil {
			l.gone(p, err)
		}
	case ws.OpPong:
	case ws.OpClose:
		_ = p.sock.write(ws.AppendClientFrame(nil, ws.OpClose, f.Payload)) // the answer is a courtesy
		code, reason := ws.ParseClose(f.Payload)
		l.closed(p, code, reason)
	default:
		l.gone(p, ws.ErrFrame)
	}
}

// message takes the objects of a message, one in each line.
func (l *loop) message(p *player, body []byte) {
	l.tally.frames++
	for len(body) > 0 && p.sock != nil {
		line := body
		if i := bytes.IndexByte(body, '\n'); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		if len(line) > 0 {
			l.line(p, line)
		}
	}
}

func (l *loop) line(p *player, line []byte) {
	switch scanType(line) {
	case wire.TypeResult:
		l.result(p, line)
	case wire.TypeWave:
		l.wave(p, line)
	case wire.TypeRoom, wire.TypeCampaign, wire.TypeWithdrawal:
	case wire.TypeSettled:
		l.tally.settled += int64(bytes.Count(line, []byte(`"claim":`)))
	case wire.TypeRain:
		l.rain(p, line)
	case wire.TypeWelcome:
		l.welcome(p, line)
	case wire.TypePong:
		var m wire.Pong
		if l.read(line, &m) {
			l.clocks[p.target].sample(m.T, l.now, m.ServerTime)
		}
	case wire.TypeError:
		l.error(p, line)
	case wire.TypeGoodbye:
		var m wire.Goodbye
		if l.read(line, &m) {
			p.backMS, p.place = m.ReconnectAfterMS, m.Position
		}
	default: // types that are not known are to be ignored; what is no message at all is not
		if !json.Valid(line) {
			l.tally.fault("not JSON")
		}
	}
}

func (l *loop) read(line []byte, m any) bool {
	if json.Unmarshal(line, m) != nil {
		l.tally.fault("a message of another shape")
		return false
	}
	return true
}

func (l *loop) result(p *player, line []byte) {
	r, ok := readResult(line)
	if !ok {
		l.tally.fault("a result of another shape")
		return
	}
	t, ok := p.answered(r.id)
	if !ok {
		l.tally.fault("a result that belongs to no tap")
		return
	}
	if !t.is(r.drop) {
		l.tally.fault("a result of another drop than was tapped")
	}
	if (string(r.outcome) == won) != (len(r.claim) > 0) { // nobody could look for it in the ledger
		l.tally.fault("a win without a claim, or a claim without a win")
	}
	l.tally.answer(r.outcome, l.now-t.at)
	if l.tapping {
		l.tally.inTime++
	}
	if len(r.claim) > 0 {
		l.told.add(p.id, r.claim, r.amount)
	}
	if l.tapping && l.plan.Rate == 0 {
		l.think(p)
	}
}

// catchUp is for how long after a player has come in a wave may be one that others got before, in ms: newcomers are
// told what is in the air and what others were told just before. The server tells of a wave half a second ahead.
const catchUp = 1_000

func (l *loop) wave(p *player, line []byte) {
	w, fresh := p.view.wave(line)
	if w == nil {
		l.tally.fault("a wave that differs from what others got")
		return
	}
	if fresh {
		w.first = l.now
	}
	if !p.seen.hear(w.n, p.presence.first) {
		return // it is told again after a reconnect
	}
	l.tally.waves++
	if w.at > p.cameAt && l.server(p, l.now) > w.at {
		l.tally.late++
	}
	if w.at > p.cameAt+catchUp {
		w.last = max(w.last, l.now)
	}
	if len(p.queue) == 0 || p.queue[len(p.queue)-1].n < w.n {
		p.queue = append(p.queue, w)
	}
	if p.starvedSince != 0 || l.plan.Hand != nil {
		l.tapClosed(p)
	}
}

// rain takes a message about a rain. All players of a room get the same, which is read once.
func (l *loop) rain(p *player, line []byte) {
	s := p.view
	if !bytes.Equal(s.told, line) {
		var m wire.RainChange
		if !l.read(line, &m) {
			return
		}
		s.tell(m.Rain, bytes.Clone(line))
	}
	if p.presence.shower == s.tells && s.phase == rain.PhaseFalling {
		return // it goes on as it was
	}
	l.absent(p)
	l.present(p)
}

func (l *loop) welcome(p *player, line []byte) {
	var m wire.Welcome
	if !l.read(line, &m) {
		return
	}
	l.clocks[p.target].sample(p.saidAt, l.now, m.ServerTime)
	for _, c := range m.Claims {
		l.told.add(p.id, []byte(c.Claim), c.Amount)
	}
	first := p.coming
	p.cameAt = l.server(p, l.now)
	p.joined, p.coming, p.attempt, p.backMS, p.place = true, false, 0, 0, 0
	p.view.tell(m.Rain, nil)
	l.present(p)
	ping := strconv.AppendInt([]byte(`{"type":"ping","id":0,"t":`), l.now, 10)
	if err := p.sock.write(ws.AppendClientFrame(nil, ws.OpText, append(ping, '}'))); err != nil {
		l.gone(p, err)
		return
	}
	if first {
		l.door.arrive(p, nil)
		l.stay(p)
	} else {
		l.tally.reconnects++
	}
	if p.stalled {
		_ = p.sock.mute() // a socket that cannot be muted shows in what it reads
	}
	if l.tapping && l.plan.Rate == 0 {
		l.think(p)
	}
}

func (l *loop) error(p *player, line []byte) {
	var m wire.Error
	if !l.read(line, &m) {
		return
	}
	l.tally.errors[m.Code]++
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	if _, ok := p.answered(id); ok {
		l.tally.failed++
		if l.tapping && l.plan.Rate == 0 {
			l.think(p)
		}
	}
}
