package history

import "context"

// Second and Thin are rounds of the recorder, without its clock.
func (r *Recorder) Second(ctx context.Context) error { return r.second(ctx) }

// Thin makes fewer rows of those that have aged.
func (r *Recorder) Thin(ctx context.Context) error { return r.thin(ctx) }
