package chain

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
)

// CheckRoots holds the roots that the database has against each other and against the links that they name, and calls
// found for each that is not whole, in words. It does not walk the chains, and asks for the links of as many of the
// newest roots as newest says, 0 for all.
func CheckRoots(ctx context.Context, q sqldb.Querier, newest int, found func(string)) error {
	say := func(format string, args ...any) { found(fmt.Sprintf(format, args...)) }
	kept, err := sqldb.List(ctx, q, scanRoot, rootSelect+"ORDER BY day")
	if err != nil {
		return fmt.Errorf("the roots: %w", err)
	}
	roots := believed(kept, nil, say)
	if newest > 0 {
		roots = roots[max(0, len(roots)-newest):]
	}
	for _, root := range roots {
		if err := root.check(ctx, q, say); err != nil {
			return fmt.Errorf("the root of %s: %w", root.Day, err)
		}
	}
	return nil
}
