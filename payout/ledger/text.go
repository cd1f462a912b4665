package ledger

import "redrain/internal/sqldb"

// Storable is a text as the ledger can keep it, whatever it holds: see [sqldb.Storable].
func Storable(text string, most int) string { return sqldb.Storable(text, most) }
