package sqldb

import "context"

// Guarded returns ctx with a condition: each writing transaction under it calls the guard first, and does nothing if
// that fails. So a worker under a lease checks the lease in all of its steps.
func Guarded(ctx context.Context, guard func(ctx context.Context, tx *Tx) error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

type guardKey struct{}

// guarded calls the guard of ctx, if it has one.
func guarded(ctx context.Context, tx *Tx) error {
	guard, has := ctx.Value(guardKey{}).(func(context.Context, *Tx) error)
	if !has {
		return nil
	}
	return guard(ctx, tx)
}
