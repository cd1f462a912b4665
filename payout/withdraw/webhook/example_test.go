package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"redrain/internal/signed"
	"redrain/payout/withdraw"
	"redrain/payout/withdraw/webhook"
)

// bank is a minimal receiver. Its map represents a table with a unique key, which is kept forever.
type bank struct {
	key []byte

	mu   sync.Mutex
	paid map[string]string // payment → the transfer that was made for it
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	// First the signature, over the bytes as received; nothing is trusted before.
	if err := signed.Verify(b.key, r.Header, body, time.Now()); err != nil {
		http.Error(w, "not from redrain", http.StatusUnauthorized)
		return
	}
	var payment struct {
		ID     string `json:"id"`
		User   string `json:"user"`
		Amount int64  `json:"amount"` // 1/100 of the currency
	}
	if err := json.Unmarshal(body, &payment); err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if payment.User == "closed" {
		w.WriteHeader(http.StatusUnprocessableEntity) // final: the money returns to the player
		_ = json.NewEncoder(w).Encode(map[string]any{"id": payment.ID, "refused": true,
			"reason": "the account is closed"})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": payment.ID, "reference": b.pay(payment.ID, payment.Amount)})
}

// pay makes the transfer unless it exists: in one transaction with the payment's id.
func (b *bank) pay(id string, amount int64) (transfer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paid[id] == "" {
		b.paid[id] = fmt.Sprintf("transfer-%d", len(b.paid)+1)
		fmt.Printf("paying %d.%02d\n", amount/100, amount%100)
	}
	return b.paid[id]
}

// A receiver, and redrain's requests to it.
func Example() {
	const secret = "whsec_cmVkcmFpbi10ZXN0LXNlY3JldC1vZi0zMi1ieXRlcyE="
	key, err := signed.ParseSecret(secret)
	if err != nil {
		panic(err)
	}
	receiver := httptest.NewServer(&bank{key: key, paid: map[string]string{}})
	defer receiver.Close()

	provider, err := webhook.New(webhook.Options{URL: receiver.URL, Secret: secret,
		Clock: func() int64 { return time.Now().UnixMilli() }})
	if err != nil {
		panic(err)
	}
	defer provider.Close()
	for range 2 { // the second asks for the same payment
		answer, err := provider.Pay(context.Background(), withdraw.Payment{Key: "w1", User: "u1", Amount: 250,
			CreatedAt: 1763712000000})
		fmt.Println(answer.Status == withdraw.Paid, answer.Reference, err)
	}
	answer, err := provider.Pay(context.Background(), withdraw.Payment{Key: "w2", User: "closed", Amount: 250,
		CreatedAt: 1763712000000})
	fmt.Println(answer.Status == withdraw.Refused, answer.Reason, err)
	// Output:
	// paying 2.50
	// true transfer-1 <nil>
	// true transfer-1 <nil>
	// true the account is closed <nil>
}
