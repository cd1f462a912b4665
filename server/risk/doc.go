// Package risk judges players by their play, and asks the operator's own risk system about them (--risk-url).
//
// A Watch gathers signals beside the taps, a few numbers for each player. Its rules are pure functions of them
// (rules.go). A verdict is written to the ledger, where each poster reads it:
//
//	watch := risk.NewWatch(risk.Options{Limits: limits, Verdicts: ledger.Risk, …})
//	hand := watch.Hand(who)
//	hand.Tap(campaign, drop, now)
//
// A System sends signed requests at four moments: before a guest is created, at hello, before a player is held, and at
// a withdrawal. A tap never waits for it. A caller waits until the time-out at most. If there is no valid answer by
// then, --risk-default decides:
//
//	err := system.Hello(ctx, risk.Caller{User: user}) // standing.ErrDenied, ErrNoAnswer
package risk
