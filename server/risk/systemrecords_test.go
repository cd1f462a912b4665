package risk

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger/standing"
)

// hangingBook is a ledger that does not answer while it hangs.
type hangingBook struct {
	mu    sync.Mutex
	hangs bool
	given int
}

func (b *hangingBook) Give(ctx context.Context, _ string, given ...standing.Verdict) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	b.given += len(given)
	return len(given), nil
}

// A page that everybody who was on it has given up is written when the ledger answers again.
func TestAFullPageIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &hangingBook{hangs: true}
		r := newRecords(b, func() {})
		var waiting sync.WaitGroup
		one := func(i int, patience time.Duration) {
			waiting.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if r.write(ctx, standing.Verdict{User: fmt.Sprint("u", i), Act: standing.Hold}) == nil {
					t.Error("it is said to be written")
				}
			})
		}
		one(-1, time.Minute)
		synctest.Wait()
		for i := range maxPage + 1 { // one too many
			one(i, time.Second)
		}
		waiting.Wait()
		b.hangs = false
		if err := r.write(t.Context(), standing.Verdict{User: "later", Act: standing.Hold}); err != nil {
			t.Error(err)
		}
		if b.given != maxPage+1 {
			t.Errorf("%d are on record", b.given)
		}
	})
}

// A hold that the system gives after it could not be asked has its reason on record, and stays when it allows the next
// hello: only what is said of no answer ends with one.
func TestAHoldAfterNoAnswerStays(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "ill", http.StatusInternalServerError)
	})
	r := open(t, func(w http.ResponseWriter, q *http.Request) { answer(w, q) },
		func(o *SystemOptions) { o.Default = standing.Hold })
	for _, said := range []string{"", `{"verdict":"hold","reasons":["a stolen card"]}`, `{"verdict":"allow"}`} {
		if said != "" {
			answer = says(said)
		}
		if err := r.Hello(t.Context(), Caller{User: "u"}); err != nil {
			t.Error(err)
		}
	}
	v, _ := r.book.newest("u")
	if reasons := standing.ParseReasons(v.Reasons); v.Act != standing.Hold || len(reasons) != 1 ||
		reasons[0].Sentence != "a stolen card" {
		t.Errorf("on record: %+v", v)
	}
}
