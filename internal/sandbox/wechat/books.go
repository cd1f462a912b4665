package wechat

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// notifier posts notifications.
var notifier = &http.Client{Timeout: 10 * time.Second}

// move changes the state of a transfer that is in another one. An ended one is notified.
func (s *Server) move(t *Transfer, from, to string) {
	if t.State != from {
		return
	}
	t.State = to
	switch to {
	case "SUCCESS":
		t.Made++
	case "FAIL", "CANCELLED":
		s.balance += t.Amount
	default:
		return
	}
	if t.NotifyURL != "" {
		s.pending = append(s.pending, notice{t.NotifyURL, s.plain(t)})
	}
}

// Proceed does the open work: it accepts and pays transfers, and closes those that have waited for a day.
func (s *Server) Proceed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(s.transfers)) {
		t := s.transfers[number]
		overdue := s.now()-t.CreatedAt > confirmWithin.Milliseconds()
		switch {
		case t.State == "ACCEPTED" && strings.HasSuffix(t.OpenID, Closed):
			t.Fail = "ACCOUNT_NOT_EXIST"
			s.move(t, "ACCEPTED", "FAIL")
		case t.State == "WAIT_USER_CONFIRM" && overdue:
			t.Fail = "OVERDUE_CLOSE"
			s.move(t, "WAIT_USER_CONFIRM", "FAIL")
		default:
			s.move(t, "TRANSFERING", "SUCCESS")
			s.move(t, "CANCELING", "CANCELLED")
		}
	}
}

// Confirm acts as the player of a transfer.
func (s *Server) Confirm(number string) { s.set(number, "TRANSFERING") }

// Cancel acts as the merchant, who cancels a transfer on the merchant platform.
func (s *Server) Cancel(number string) { s.set(number, "CANCELING") }

func (s *Server) set(number, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.transfers[number]; t != nil {
		s.move(t, "WAIT_USER_CONFIRM", state)
	}
}

// Transfers returns the books, by number.
func (s *Server) Transfers() (list []Transfer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(s.transfers)) {
		list = append(list, *s.transfers[number])
	}
	return list
}

// Peak returns the most requests of one API that were answered in a second.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Charge sets the merchant's balance, in fen.
func (s *Server) Charge(balance int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balance = balance
}

// FailNext answers the next n requests with an error, and does nothing for them.
func (s *Server) FailNext(status int, code string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = slices.Repeat([]failure{{status, code}}, n)
}

// SkewClock moves the server's clock.
func (s *Server) SkewClock(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = by
}

// Rotate signs with another key from now on.
func (s *Server) Rotate(id string, key *rsa.PrivateKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.KeyID, s.o.Key = id, key
}

// notice is a notification to send.
type notice struct {
	url  string
	text []byte // of the resource
}

func (s *Server) plain(t *Transfer) []byte {
	v := s.view(t, false)
	v["update_time"] = time.UnixMilli(s.now()).UTC().Format(time.RFC3339)
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a map of texts and numbers
	}
	return text
}

// Notifications returns the signed requests for the ended transfers, and forgets them. A late or repeated notification
// is one that a test sends late or twice.
func (s *Server) Notifications() (list []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.pending {
		body := s.encrypt(n.text)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, n.url, bytes.NewReader(body))
		if err != nil {
			continue // the merchant has given no address
		}
		s.sign(r.Header, body)
		list = append(list, r)
	}
	s.pending = nil
	return list
}

// encrypt returns the body of a notification.
func (s *Server) encrypt(text []byte) []byte {
	block, err := aes.NewCipher([]byte(s.o.APIv3Key))
	if err != nil {
		panic(err) // the key has another length
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	nonce, data := rand.Text()[:gcm.NonceSize()], "mch_payment"
	body, err := json.Marshal(map[string]any{
		"id": "EV-" + rand.Text(), "create_time": time.UnixMilli(s.now()).UTC().Format(time.RFC3339),
		"resource_type": "encrypt-resource", "event_type": "MCHTRANSFER.BILL.FINISHED", "summary": "商家转账单据终态通知",
		"resource": map[string]string{"original_type": "mch_payment", "algorithm": "AEAD_AES_256_GCM",
			"ciphertext": base64.StdEncoding.EncodeToString(gcm.Seal(nil, []byte(nonce), text, []byte(data))),
			"nonce":      nonce, "associated_data": data},
	})
	if err != nil {
		panic(err) // a map of texts
	}
	return body
}

// Run does the open work and sends notifications, once in every interval, until ctx ends. A notification that is not
// accepted is lost, as after the last repetition of WeChat Pay.
func (s *Server) Run(ctx context.Context, every time.Duration) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		s.Proceed()
		for _, r := range s.Notifications() {
			if resp, err := notifier.Do(r.WithContext(ctx)); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
}
