package history

import (
	"database/sql"
	"strings"

	"redrain/payout/ledger/chain"
)

// chainedColumns are the columns of a line that its hash covers.
var chainedColumns = chain.RecordColumns(chain.Histories)

// newestLines finds lines with their places in their chain; what follows it are the things.
var newestLines = "SELECT h.thing, h.version, h.digest, h.stripe, h.link, COALESCE(h.hash, ''), " +
	"COALESCE(b.hash, s.hash, ''), COALESCE(c.links, 0), h." + strings.Join(chainedColumns, ", h.") +
	" FROM history h " +
	"LEFT JOIN history b ON b.stripe = h.stripe AND b.link = h.link - 1 " +
	"LEFT JOIN chain_stub s ON s.book = '" + chain.Histories + "' AND s.stripe = h.stripe AND s.link = h.link - 1 " +
	"LEFT JOIN chain_head c ON c.book = '" + chain.Histories + "' AND c.stripe = h.stripe " +
	"WHERE h.kind = ? AND h.thing IN "

// chainLink is where a line stands in its chain.
type chainLink struct {
	stripe, number sql.NullInt64
	hash, before   []byte
	links          int64 // that the chain has
}

// holds tells whether a line with this content is what was chained there. Where the link before is gone nobody can say,
// and it counts as whole: who has removed that line was not the line's own, and the walk along the chain names it.
func (l *chainLink) holds(content chain.Hash) bool {
	if !l.number.Valid || !l.stripe.Valid || l.number.Int64 < 1 || l.number.Int64 > l.links {
		return false
	}
	before := chain.FirstHash(chain.Histories, l.stripe.Int64)
	if l.number.Int64 > 1 {
		if len(l.before) != len(before) {
			return true
		}
		before = chain.Hash(l.before)
	}
	return len(l.hash) == len(before) && chain.LinkHash(before, content) == chain.Hash(l.hash)
}
