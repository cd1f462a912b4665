package store

// Constants for the tests outside the package.
const (
	RestoredAtOnce  = restoredAtOnce
	RangesAtOnce    = rangesAtOnce
	ReclaimedAtOnce = reclaimedAtOnce
	EntriesAtOnce   = entriesAtOnce
	WinsAtOnce      = winsAtOnce
	PresentFor      = presentFor
)

var ErrRestoration = errRestoration

// Opening are the keys that a shard has from its opening on.
func (k Keys) Opening() []string { return k.opening() }

func (s *Store) BucketKey(name, key string) string { return s.keys.bucket(name, key) }

// WaitingKeys are the keys of a room's queue.
func (s *Store) WaitingKeys(campaign string) (queue, asked string) {
	k := s.keys.room(campaign)
	return k.queue, k.asked
}

func (s *Store) NodesKey(campaign string) string { return s.keys.nodes(campaign) }
