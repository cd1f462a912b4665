package verdict

import (
	"context"
	"errors"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// stuck is a database that does not answer before it is told to.
type stuck struct {
	sqldb.Querier

	asked, free chan struct{}
}

var errDown = errors.New("the database is down")

func (s stuck) First(context.Context, []any, string, ...any) (bool, error) {
	close(s.asked)
	<-s.free
	return false, errDown
}

// While the database does not answer, what was read before is known to whoever asks: hellos and taps do not wait.
func TestAListIsReadWhileTheDatabaseIsSlow(t *testing.T) {
	l := NewList()
	l.take([]Verdict{{Number: 1, User: "u", Act: Hold}})
	slow := stuck{asked: make(chan struct{}), free: make(chan struct{})}
	refreshed := make(chan error)
	go func() {
		_, err := l.Refresh(t.Context(), slow)
		refreshed <- err
	}()
	<-slow.asked
	defer func() {
		close(slow.free)
		if err := <-refreshed; !errors.Is(err, errDown) {
			t.Error(err)
		}
	}()
	if !l.mu.TryRLock() {
		t.Fatal("who asks has to wait for the database")
	}
	l.mu.RUnlock()
	if _, known := l.Of("u"); !known {
		t.Error("what was read is not known")
	}
}
