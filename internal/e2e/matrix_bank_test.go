package e2e

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/payout/withdraw/webhook/webhooktest"
)

// bank is the payment provider outside: the reference receiver, with books of its own. A door before it can be held,
// and a sickness can be switched on. refusedByBank names its final refusals.
type bank struct {
	*webhooktest.Receiver

	server *httptest.Server
	sick   atomic.Bool
	asked  atomic.Int64 // since it is sick: what to do next
	broken atomic.Int64 // answers that were bad, or were not given
	held   atomic.Int64 // payments that are decided here and whose answers are held back

	mu   sync.Mutex
	door chan struct{} // nil: open; else closed when it opens
}

// sickness are the faults of a sick provider, in turn. Slow is slower than the sender's timeout.
var sickness = []webhooktest.Behaviour{
	webhooktest.Fail, webhooktest.Hang, webhooktest.PayAndHang, webhooktest.PayAndFail, webhooktest.PayAndBreak,
	webhooktest.PayTwice,
	webhooktest.Missing,
}

// refusedByBank reports whether the bank never pays an amount.
func refusedByBank(amount int64) bool { return amount%7 == 0 }

func openBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{Receiver: webhooktest.New()}
	b.Behave = func(r webhooktest.Request) webhooktest.Behaviour {
		switch {
		case b.sick.Load():
			b.broken.Add(1)
			return sickness[int(b.asked.Add(1))%len(sickness)]
		case refusedByBank(int64(r.Amount)):
			return webhooktest.Refuse
		}
		return webhooktest.Pay
	}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	t.Cleanup(b.open)
	return b
}

// ServeHTTP decides at once, and answers when the door is open. A sick bank ignores the door.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	door := b.door
	b.mu.Unlock()
	sick := b.sick.Load()
	answer := httptest.NewRecorder()
	b.Receiver.ServeHTTP(answer, r)
	if door != nil && !sick {
		b.held.Add(1)
		select {
		case <-door:
		case <-r.Context().Done():
		}
		b.held.Add(-1)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may have gone
}

// hold keeps answers back from now on.
func (b *bank) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.door == nil {
		b.door = make(chan struct{})
	}
}

// open lets all answers out.
func (b *bank) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.door != nil {
		close(b.door)
		b.door = nil
	}
}
