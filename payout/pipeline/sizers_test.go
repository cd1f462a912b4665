package pipeline

import (
	"errors"
	"testing"
	"time"

	"redrain/rain"
)

// TestBatchSizer: batches grow while the ledger is quick and shrink while it is slow, within bounds.
func TestBatchSizer(t *testing.T) {
	t.Parallel()
	b := newBatchSizer(mostWins)
	for _, step := range []struct {
		what string
		wins int
		took time.Duration
		ok   bool
		want int
	}{
		{"quick and full", 500, 100 * time.Millisecond, true, 1000},
		{"quick and half full", 500, 100 * time.Millisecond, true, 2000},
		{"nearly empty", 10, time.Millisecond, true, 2000},
		{"quick and full again", 1990, 500 * time.Millisecond, true, 4000},
		{"as large as may be", 4000, 500 * time.Millisecond, true, 4000},
		{"neither quick nor slow", 4000, 2 * time.Second, true, 4000},
		{"slow", 4000, 4 * time.Second, true, 2000},
		{"slow with few", 10, 4 * time.Second, true, 1000},
		{"refused at once", 1000, time.Millisecond, false, 500},
		{"timed out", 500, 8 * time.Second, false, 250},
		{"quick again", 250, time.Millisecond, true, 500},
	} {
		if b.settled(b.wins, step.wins, step.took, step.ok); b.wins != step.want {
			t.Fatalf("after one that was %s: %d wins, want %d", step.what, b.wins, step.want)
		}
	}
	for range 20 {
		b.settled(b.wins, b.wins, 8*time.Second, false)
	}
	if b.wins != fewestWins {
		t.Errorf("a ledger that is away gets %d wins at once, want %d", b.wins, fewestWins)
	}
	if b := newBatchSizer(20); b.wins != 20 || b.least != 20 {
		t.Errorf("batches of at most 20 are of %d, and of %d at least", b.wins, b.least)
	}
}

// TestWorkersShareWhatTheyLearn: four batches that were begun together count as one observation.
func TestWorkersShareWhatTheyLearn(t *testing.T) {
	t.Parallel()
	for what, after := range map[string]struct {
		ok   bool
		want int
	}{"quick": {true, 2000}, "failed": {false, 250}} {
		b := newBatchSizer(mostWins)
		for range 4 {
			b.settled(500, 500, time.Millisecond, after.ok)
		}
		if b.now() != after.want {
			t.Errorf("after four %s batches of 500: %d wins, want %d", what, b.now(), after.want)
		}
	}
}

// TestALedgerThatIsAwayGetsLess: a worker posts at most as many wins as its sizer allows, and reports the result.
func TestALedgerThatIsAwayGetsLess(t *testing.T) {
	t.Parallel()
	const messages, wins = 6, 50
	p := inProcess(t)
	p.publishWins(t, messages, wins)
	batches, largest := 0, 0
	away := func(entries []rain.Entry) error {
		batches, largest = batches+1, max(largest, len(entries)*wins)
		return errors.New("the ledger is away")
	}
	s := p.settlerOn(&between{p.Poster, away}, SettlerOptions{BatchWins: 4 * wins})
	size := newBatchSizer(4 * wins)
	size.wins = 2 * wins
	fetch := newFetchSizer(4 * wins)
	for batches < 3 {
		if s.round(t.Context(), fetch, size) && batches > 0 {
			t.Fatal("the ledger was away, and all is well")
		}
	}
	if largest > 2*wins || size.wins != wins {
		t.Errorf("a batch had %d wins, want %d at most; then they are to be %d, want %d", largest, 2*wins, size.wins,
			wins)
	}
}

// TestFetchSizer: a worker fetches about two batches, for any message size.
func TestFetchSizer(t *testing.T) {
	t.Parallel()
	p := newFetchSizer(500)
	for _, step := range []struct{ wins, least, most int }{
		{50, 20, 21}, {1, 950, 1000}, {500, 2, 2}, {5000, 1, 1}, {0, 950, 1000}, {50, 20, 21},
	} {
		for range 20 * meanOver {
			p.held(step.wins)
		}
		if n := p.messages(500); n < step.least || n > step.most {
			t.Errorf("with %d wins in a message it takes %d messages, want %d to %d", step.wins, n, step.least,
				step.most)
		}
	}
	if n := newFetchSizer(1).messages(1); n < 1 || n > mostMessages {
		t.Errorf("the first fetchSizer of small batches is %d messages", n)
	}
}

// TestReclaimsFillABatch: a reclaim counts as several wins, so a batch has fewer of them.
func TestReclaimsFillABatch(t *testing.T) {
	t.Parallel()
	reclaims := make([]delivery, 100)
	for i := range reclaims {
		reclaims[i].entry.Reclaim = &rain.Reclaim{}
	}
	if n, wins := batchOf(reclaims, 5*reclaimWins); n != 5 || wins != 5*reclaimWins {
		t.Errorf("%d reclaims are a batch of %d", n, wins)
	}
}
