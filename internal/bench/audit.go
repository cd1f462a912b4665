package bench

import (
	"fmt"

	"redrain/rain"
)

// LedgerRow is a claim as the server lists it.
type LedgerRow struct {
	Claim   string
	User    string // "" where the list does not say, being that of one player
	Amount  rain.Money
	Settled bool // the ledger has it; false while it is on its way, or has been given up
}

// Audit compares the wins that players were told of with what the ledger has.
type Audit struct {
	user  func(player int) string
	told  map[string]*toldWin
	ours  map[string]struct{} // the users who play
	found AuditFindings
	twice map[string]struct{}
}

// toldWin is a win that a player was told of, and what the ledger says about it.
type toldWin struct {
	player  int
	amount  rain.Money
	listed  bool
	settled bool
}

// AuditFindings are what came of an audit. All is well if nothing is missing, unsettled, wrong or twice.
type AuditFindings struct {
	Told       int        // different claims
	AmountTold rain.Money // of them
	Settled    int        // told, and in the ledger
	Unsettled  int        // told, and still on their way to the ledger, or given up on it
	Missing    int        // told, and nowhere
	Wrong      int        // another amount or another player than was told
	Twice      int        // claims that the ledger has more than once
	Untold     int        // in the ledger for one of the players, who was not told: a result was lost on its way
	Examples   []string   // of what is wrong, in words; the first few
}

// maxExamples is how many faults are told in words.
const maxExamples = 10

// NewAudit begins an audit. user is the name under which a player plays; players is how many there are.
func NewAudit(told []Win, players int, user func(player int) string) *Audit {
	a := &Audit{user: user, told: make(map[string]*toldWin, len(told)), ours: make(map[string]struct{}, players),
		twice: map[string]struct{}{}}
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

// Row takes a row of the list in.
func (a *Audit) Row(r LedgerRow) {
	p := a.told[r.Claim]
	if p == nil {
		if _, ours := a.ours[r.User]; ours && r.Settled {
			a.found.Untold++
		}
		return
	}
	p.listed = true
	if !r.Settled {
		return
	}
	if p.settled {
		if _, known := a.twice[r.Claim]; !known {
			a.twice[r.Claim] = struct{}{}
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
	case r.User != "" && r.User != user:
		a.found.Wrong++
		a.example("claim %s is %s's in the ledger, and was told to %s", r.Claim, r.User, user)
	}
}

// Findings ends the audit.
func (a *Audit) Findings() AuditFindings {
	f := a.found
	for claim, p := range a.told {
		switch {
		case p.settled:
		case p.listed:
			f.Unsettled++
		default:
			f.Missing++
			if len(f.Examples) < maxExamples {
				f.Examples = append(f.Examples, fmt.Sprintf("claim %s, %s, was told to %s and is not in the ledger",
					claim, p.amount, a.user(p.player)))
			}
		}
	}
	return f
}

// Sound tells whether every win that was told is in the ledger once, as it was told.
func (f AuditFindings) Sound() bool {
	return f.Unsettled == 0 && f.Missing == 0 && f.Wrong == 0 && f.Twice == 0
}
