package rain

import (
	"errors"
	"strings"
)

// Epoch is the newest record of a shard's epochs in the stream; see package confirm. The zero value is that of a shard
// without one.
type Epoch struct {
	Number int64
	Holder string // the replication id of a master of Redis, or the name of a rebuild
	Moves  int64  // moves of stock from and to the shard that its master must have
	From   uint64 // entries up to this sequence of the stream need not be in Redis: a rebuild has decided about them
	Seq    uint64 // its own sequence
}

// ErrEpochClaimed means that a record is not the newest of its shard any more.
var ErrEpochClaimed = errors.New("the shard has a newer epoch")

// RebuildMark begins the name of a rebuild.
const RebuildMark = "rebuild-"

// IsRebuild reports whether a rebuild has claimed the epoch.
func (e Epoch) IsRebuild() bool { return strings.HasPrefix(e.Holder, RebuildMark) }

// Same reports whether two records are of one epoch and one holder.
func (e Epoch) Same(other Epoch) bool { return e.Number == other.Number && e.Holder == other.Holder }
