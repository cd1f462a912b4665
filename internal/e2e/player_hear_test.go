package e2e

import (
	"encoding/json"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// heard takes a message of the node. An invalid one fails the test, on any goroutine.
func heard[T any](p *player, line []byte, take func(message T)) {
	var message T
	if err := json.Unmarshal(line, &message); err != nil {
		p.t.Errorf("the node says %q: %v", line, err)
		return
	}
	take(message)
}

func (p *player) hear(line []byte) {
	var kind struct {
		Type string `json:"type"`
	}
	testenv.WantErr(p.t, json.Unmarshal(line, &kind), nil, "the node says", string(line))
	switch kind.Type {
	case wire.TypeWelcome:
		heard(p, line, func(m wire.Welcome) {
			p.welcome = m
			p.offset = m.ServerTime - time.Now().UnixMilli()
			if m.Rain != nil {
				p.rains = append(p.rains, *m.Rain)
			}
		})
	case wire.TypeRain:
		heard(p, line, func(m wire.RainChange) { p.rains = append(p.rains, *m.Rain) })
	case wire.TypeCampaign:
		heard(p, line, func(m wire.CampaignChange) { p.changes = append(p.changes, m.Campaign) })
	case wire.TypeWave:
		heard(p, line, func(w wire.Wave) {
			if _, known := p.waves[w.N]; !known {
				p.waves[w.N] = w
				if p.greedy {
					p.taps.Go(func() { p.tapWave(w) })
				}
			}
		})
	case wire.TypeResult:
		heard(p, line, func(r wire.Result) {
			p.results[r.ID] = append(p.results[r.ID], r)
			if p.greedy && r.Outcome == "unavailable" {
				again := p.note(r.Drop)
				p.taps.Go(func() { p.send(again, r.Drop) })
			}
		})
	case wire.TypeError:
		heard(p, line, func(m wire.Error) { p.errors = append(p.errors, m) })
	case wire.TypeSettled:
		heard(p, line, func(m wire.Settled) {
			for _, c := range m.Claims {
				p.settled[c.Claim] = append(p.settled[c.Claim], c)
			}
			p.balance = max(p.balance, m.Balance) // notices of two nodes have no order
		})
	case wire.TypeRoom:
		heard(p, line, func(m wire.Room) { p.rooms = append(p.rooms, m) })
	case wire.TypeWithdrawal:
		heard(p, line, func(m wire.WithdrawalChange) { p.money = append(p.money, m) })
	case wire.TypeGoodbye:
		heard(p, line, func(m wire.Goodbye) { p.goodbye = &m })
	}
}
