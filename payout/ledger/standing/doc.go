// Package standing says who may play and be paid. It reads the tables of bans by operators (Sanction), verdicts of
// risk rules and systems (Verdict), and lists of players and addresses (List). Package ledger writes these tables.
// Rows of the tables sanction and verdict are only added. Their numbers have no gaps and follow the order of commits.
// A reader that has read up to a number continues there and misses nothing:
//
//	bans := standing.NewSanctions()
//	_, err := bans.Refresh(ctx, db) // reads the new rows
//	if bans.BannedAt(user, wonAt) {
//		…
//	}
//
// The poster reads new rows before it posts wins. So an act holds for all wins that are posted after its commit, on
// every node. A removed member's row stays in list_member with the time of removal, because ReadRefusals needs it for
// older wins.
package standing
