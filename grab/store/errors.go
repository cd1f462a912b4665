package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// The errors of this package.
var (
	// ErrNoState means that Redis has no state of a campaign's shard. It was never stocked, or Redis has lost it and
	// it is not fully restored.
	ErrNoState = errors.New("redis has no state of the campaign's shard")
	// ErrAlive means that there is nothing to restore: Redis has the shard.
	ErrAlive = errors.New("redis has the campaign's shard, nothing has to be restored")
	// ErrSuperseded means that another restoration of the shard has begun since.
	ErrSuperseded = errors.New("another restoration of the shard has begun")
	// ErrUnsettled means that Redis has lost a shard's state but kept its outbox, with entries that the ledger may
	// not have yet.
	ErrUnsettled = errors.New("the outbox of the shard is still there and has to be settled first")
	// ErrBehind means that Redis has less of a shard than before: it has been rolled back to an older state.
	ErrBehind = errors.New("redis was rolled back: it has lost a part of the campaign's shard")
	// ErrLate means that a call came after its deadline; it has to be begun anew.
	ErrLate = errors.New("the call came after its deadline")
	// ErrClosed means that a campaign is closed and takes no stock any more.
	ErrClosed = errors.New("the campaign's shard is closed")
	// ErrNotClosed is returned by Expire if a shard still has stock or unpaid entries.
	ErrNotClosed = errors.New("a shard is not closed, or its outbox is not empty")
)

// names maps the error codes of the scripts to the errors of this package.
var names = map[string]error{"NOSTATE": ErrNoState, "ALIVE": ErrAlive, "SUPERSEDED": ErrSuperseded,
	"UNSETTLED": ErrUnsettled, "BEHIND": ErrBehind, "LATE": ErrLate}

// unreadable names the error of a key with a wrong type. If a script has met it, the code is somewhere in Redis's
// message, depending on its version.
func unreadable(err error) error {
	var answer redis.Error
	if errors.As(err, &answer) && strings.Contains(answer.Error(), "WRONGTYPE") {
		return fmt.Errorf("%w: %w", rain.ErrUnreadable, err)
	}
	return err
}

// wrap adds the failed operation to an error, as fmt.Errorf does; nil stays nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// named wraps those errors.
func named(err error) error {
	word, _, _ := strings.Cut(err.Error(), " ")
	if name := names[word]; name != nil {
		return fmt.Errorf("%w: %w", name, err)
	}
	return err
}

// passing are the answers of a Redis that cannot serve for now. It is starting, full, busy, cannot write to its disk,
// is a replica, lacks replicas, or its Cluster is incomplete. Or its password changes: a node may get the new one
// later. Missing rights (NOPERM) do not pass by themselves.
var passing = []string{
	"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN", "OOM", "MISCONF", "NOREPLICAS", "BUSY ",
	"max number of clients", "NOAUTH", "WRONGPASS", "NOSTATE", "BEHIND",
}

// IsUnavailable reports whether an error says that Redis cannot serve for now; or no connection was free in time.
// Network errors are left to the caller.
func IsUnavailable(err error) bool {
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, ErrOtherRedis) ||
		slices.ContainsFunc(passing, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
