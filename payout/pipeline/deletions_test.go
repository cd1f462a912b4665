package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestDeletedMessagesAreNoticed: one in the middle, the oldest, the newest, all, and the whole stream; each once.
func TestDeletedMessagesAreNoticed(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	s := newStream(p.js, p.namespace, nil)
	now := func() int64 { return time.Now().UnixMilli() }
	d := NewDeletions(p.js, p.namespace, now)
	look := func(what, want string, lost bool) {
		t.Helper()
		for _, want := range []string{want, ""} {
			gone, err := d.Look(t.Context())
			if err != nil || (gone.What == "") != (want == "") || !strings.Contains(gone.What, want) ||
				gone.Lost != (lost && want != "") {
				t.Errorf("%s: %+v, %v, want %q", what, gone, err, want)
			}
		}
	}
	look("no stream yet", "", false)
	made, err := s.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	publish := func() {
		t.Helper()
		if _, err := p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("an entry")); err != nil {
			t.Fatal(err)
		}
	}
	look("an empty one", "", false)
	for range 10 {
		publish()
	}
	look("messages come", "", false)
	for what, seq := range map[string]uint64{"the oldest": 1, "one in the middle": 5, "the newest": 10} {
		if err := made.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		publish()
		look(what, "1 messages were deleted from the stream "+s.name(), false)
	}
	if err := made.Purge(t.Context(), jetstream.WithPurgeKeep(2)); err != nil {
		t.Fatal(err)
	}
	look("all but two", "8 messages were deleted", false)
	if err := made.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("all", "2 messages were deleted", false)
	publish()
	look("one more", "", false)
	if err := p.js.DeleteStream(t.Context(), s.name()); err != nil {
		t.Fatal(err)
	}
	look("the stream", "is gone, with 1 messages", true)
	if _, err := s.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish()
	look("a new one", "", false)
	if err := p.js.DeleteStream(t.Context(), s.name()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("made anew between two looks", "was made anew", true)
	publish()
	look("goes on", "", false)
	d.Forget()
	if err := p.js.DeleteStream(t.Context(), s.name()); err != nil {
		t.Fatal(err)
	}
	look("gone while it was not looked at", "", false)
}

// TestMessagesThatGoByAgeAreNotDeleted: as the oldest are a week old, those that go at the front are not told; one in
// the middle is.
func TestMessagesThatGoByAgeAreNotDeleted(t *testing.T) {
	t.Parallel()
	old := time.UnixMilli(1_763_712_000_000)
	was := jetstream.StreamState{FirstSeq: 10, LastSeq: 29, Msgs: 18, FirstTime: old} // two were deleted before
	aged := jetstream.StreamState{FirstSeq: 15, LastSeq: 31, Msgs: 15}
	cut := jetstream.StreamState{FirstSeq: 15, LastSeq: 31, Msgs: 14}
	none := jetstream.StreamState{FirstSeq: 32, LastSeq: 31}
	for what, c := range map[string]struct {
		now  time.Time
		is   jetstream.StreamState
		want string
	}{
		"in their time":              {old.Add(streamMaxAge), aged, ""},
		"all of them":                {old.Add(2 * streamMaxAge), none, ""},
		"and one in the middle":      {old.Add(streamMaxAge), cut, "1 messages"},
		"before their time":          {old.Add(streamMaxAge - time.Hour), aged, "5 messages"},
		"all of them, before theirs": {old.Add(time.Hour), none, "20 messages"},
	} {
		d := &Deletions{stream: newStream(nil, "rr", nil), clock: c.now.UnixMilli}
		if got := d.compare(&was, &c.is, false).What; !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
