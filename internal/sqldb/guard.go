package sqldb

import "context"

// Guarded is ctx with a condition: each transaction that writes and is begun with it calls the guard first, and does
// nothing where that fails. So who works under a lease cannot forget, in any of its steps, to look whether it still has
// it.
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
