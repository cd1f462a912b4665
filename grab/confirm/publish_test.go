package confirm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"redrain/rain"
)

// A few entries are on their way to the stream at a time: neither one after the other nor all at once.
func TestEightEntriesArePublishedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{publisher: publisher(func(context.Context, rain.Entry) error {
			time.Sleep(time.Second) //nolint:forbidigo // the stream takes a second of fake time
			return nil
		})}
		began := time.Now()
		entries := make([]*entry, 17)
		for i := range entries {
			entries[i] = &entry{written: &rain.Entry{}}
		}
		done, err := s.publish(t.Context(), entries)
		if took := time.Since(began); err != nil || len(done) != len(entries) || took != 3*time.Second {
			t.Errorf("%d of 17 in %v (%v)", len(done), took, err)
		}
	})
}
