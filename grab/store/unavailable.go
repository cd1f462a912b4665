package store

import (
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// IsUnavailable tells whether an error says that Redis cannot serve for now: it is starting, full, a replica, or its
// Cluster is not whole; or no connection was free in time. Errors of the network are for who knows networks.
func IsUnavailable(err error) bool {
	return errors.Is(err, redis.ErrPoolTimeout) || slices.ContainsFunc([]string{
		"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN", "OOM", "NOSTATE", "BEHIND",
	}, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
