package store

import (
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// IsUnavailable reports whether an error says that Redis cannot serve for now. It is starting, full, a replica, or
// its Cluster is incomplete; or no connection was free in time. Network errors are left to the caller.
func IsUnavailable(err error) bool {
	return errors.Is(err, redis.ErrPoolTimeout) || slices.ContainsFunc([]string{
		"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN", "OOM", "NOSTATE", "BEHIND",
	}, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
