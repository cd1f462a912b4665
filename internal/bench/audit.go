package bench

import (
	"fmt"
	"time"

	"redrain/client"
	"redrain/rain"
)

// Ledger is the result of comparing the reported wins with the ledger.
type Ledger struct {
	Checked    bool       `json:"checked"`
	Reason     string     `json:"reason"` // if it was not checked
	WaitedMS   int64      `json:"waited_ms"`
	Told       int        `json:"told"`        // reported claims, each counted once
	AmountTold rain.Money `json:"amount_told"` // of them
	Settled    int        `json:"settled"`     // reported, and in the ledger
	Unsettled  int        `json:"unsettled"`   // reported, and still in flight to the ledger, or dead-lettered
	Missing    int        `json:"missing"`     // reported, and missing
	Wrong      int        `json:"wrong"`       // reported with another amount or player
	Twice      int        `json:"twice"`       // claims that the ledger has more than once
	Untold     int        `json:"untold"`      // in the ledger and not reported to the player: a result was lost
	Examples   []string   `json:"examples"`    // the first few faults in words
}

// Audit compares the wins reported to players with the ledger.
type Audit struct {
	user  func(player int) string
	told  map[string]*toldWin
	ours  map[string]struct{} // the users who play
	found Ledger
}

// toldWin is a reported win with its state in the ledger.
type toldWin struct {
	player  int
	amount  rain.Money
	listed  bool
	settled bool
	twice   bool
}

// maxExamples is the number of faults described in words.
const maxExamples = 10

// NewAudit begins an audit. user returns a player's name; players is their number.
func NewAudit(told []Win, players int, user func(player int) string) *Audit {
	a := &Audit{user: user, told: make(map[string]*toldWin, len(told)), ours: make(map[string]struct{}, players),
		found: Ledger{Examples: []string{}}}
	for i := range players {
		a.ours[user(i)] = struct{}{}
	}
	for _, w := range told {
		known := a.told[w.Claim]
		switch {
		case known == nil:
			a.told[w.Claim] = &toldWin{player: w.Player, amount: w.Amount}
			a.found.Told++
			a.found.AmountTold += w.Amount
		case known.player != w.Player:
			a.found.Wrong++
			a.example("claim %s was told to %s and to %s", w.Claim, user(known.player), user(w.Player))
		case known.amount != w.Amount:
			a.found.Wrong++
			a.example("claim %s was told as %s and as %s", w.Claim, known.amount, w.Amount)
		}
	}
	return a
}

func (a *Audit) example(format string, args ...any) {
	if len(a.found.Examples) < maxExamples {
		a.found.Examples = append(a.found.Examples, fmt.Sprintf(format, args...))
	}
}

// Row adds a claim from the server's list.
func (a *Audit) Row(r client.Claim) {
	p, settled := a.told[r.Claim], r.State == client.ClaimSettled
	if p == nil {
		if _, ours := a.ours[r.User]; ours && settled {
			a.found.Untold++
		}
		return
	}
	p.listed = true
	if !settled {
		return
	}
	if p.settled {
		if !p.twice {
			p.twice = true
			a.found.Twice++
			a.example("claim %s is in the ledger more than once", r.Claim)
		}
		return
	}
	p.settled = true
	a.found.Settled++
	user := a.user(p.player)
	switch {
	case r.Amount != p.amount:
		a.found.Wrong++
		a.example("claim %s is %s in the ledger, and was told as %s", r.Claim, r.Amount, p.amount)
	case r.User != user:
		a.found.Wrong++
		a.example("claim %s is %s's in the ledger, and was told to %s", r.Claim, r.User, user)
	}
}

// Ledger ends the audit and returns its result.
func (a *Audit) Ledger() Ledger {
	for claim, p := range a.told {
		switch {
		case p.settled:
		case p.listed:
			a.found.Unsettled++
		default:
			a.found.Missing++
			a.example("claim %s, %s, was told to %s and is not in the ledger", claim, p.amount, a.user(p.player))
		}
	}
	return a.found
}

// Judge adds the result of an audit to the report, and sets OK and Problems.
func (r *Report) Judge(l Ledger) {
	r.Ledger, r.Problems = l, []string{}
	r.check()
	if !l.Checked {
		r.problem(true, "the told wins could not be looked up in the ledger: %s", l.Reason)
		return
	}
	waited := (time.Duration(l.WaitedMS) * time.Millisecond).Round(100 * time.Millisecond)
	is := "are"
	if l.Missing == 1 {
		is = "is"
	}
	r.problem(l.Missing > 0, "%s told and %s not in the ledger", were(int64(l.Missing), "win"), is)
	r.problem(l.Unsettled > 0, "%s told and still on the way to the ledger after %s", were(int64(l.Unsettled), "win"),
		waited)
	r.problem(l.Wrong > 0, "%s told otherwise than the ledger has it", were(int64(l.Wrong), "win"))
	r.problem(l.Twice > 0, "%s in the ledger more than once", count(l.Twice, "win"))
	// Each of them may hide a win that was not reported to its player.
	unsure := r.Lost + r.Unanswered + Sum(r.Errors) + r.Outcomes["unavailable"]
	r.problem(int64(l.Untold) > unsure, "%s in the ledger and never told, and only %s without a result",
		were(int64(l.Untold), "win"), were(unsure, "tap"))
}
