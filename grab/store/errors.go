package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// The errors of this package.
var (
	// ErrNoState says that Redis knows nothing of a campaign's shard: it was never stocked, or Redis has lost it
	// and it has not been restored to its end.
	ErrNoState = errors.New("redis knows nothing of the campaign's shard")
	// ErrAlive says that there is nothing to restore: Redis knows the shard.
	ErrAlive = errors.New("redis knows the campaign's shard, nothing has to be restored")
	// ErrSuperseded says that another restoration of the shard has begun since.
	ErrSuperseded = errors.New("another restoration of the shard has begun")
	// ErrUnsettled says that Redis has lost a shard's state and not its outbox, with entries that the ledger may
	// not have yet.
	ErrUnsettled = errors.New("the outbox of the shard is still there and has to be settled first")
	// ErrBehind says that Redis knows less of a shard than it once did: it has come back with an older state.
	ErrBehind = errors.New("redis has gone back in time: it has forgotten a part of the campaign's shard")
	// ErrLate says that a call came later than it is good for; it has to be begun anew.
	ErrLate = errors.New("redis was asked too late")
	// ErrClosed says that a campaign is closed and takes no stock any more.
	ErrClosed = errors.New("the campaign's shard is closed")
	// ErrNotClosed is what Expire answers where a shard still has something to give away or to be paid.
	ErrNotClosed = errors.New("a shard is not closed, or its outbox is not empty")
)

// names are the errors of the scripts that this package has a name for.
var names = map[string]error{"NOSTATE": ErrNoState, "ALIVE": ErrAlive, "SUPERSEDED": ErrSuperseded,
	"UNSETTLED": ErrUnsettled, "BEHIND": ErrBehind, "LATE": ErrLate}

// unreadable names the error of a key that has another type than the scripts give it. Where a script has met it, it is
// somewhere in the words of Redis, by its version.
func unreadable(err error) error {
	var answer redis.Error
	if errors.As(err, &answer) && strings.Contains(answer.Error(), "WRONGTYPE") {
		return fmt.Errorf("%w: %w", rain.ErrUnreadable, err)
	}
	return err
}

// named wraps those errors.
func named(err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	if name := names[word]; name != nil {
		return fmt.Errorf("%w: %w", name, err)
	}
	return err
}
