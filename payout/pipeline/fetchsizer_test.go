package pipeline

import "testing"

// TestFetchSizer: a worker takes about two batches, whatever is in the messages.
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
