// Package loop runs work that repeats until a context ends. It recovers from panics, backs off after failures, logs an
// outage once, and counts panics and failed rounds.
//
//	func (r *Refresher) Run(ctx context.Context) error {
//		return loop.Run(ctx, loop.Spec{
//			Part: "lists", Work: "read the lists", Every: 2 * time.Second, Wake: r.wake,
//			Do: r.refresh, Recoverer: r.recoverer, Log: r.log,
//		})
//	}
//
// [Recoverer] and [FailureLog] can be used alone, for work that is not a loop; so can [Sleep], [Backoff] and
// [Graceful].
package loop
