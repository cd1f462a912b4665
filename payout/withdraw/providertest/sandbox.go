package providertest

import (
	"redrain/payout/withdraw"
	"redrain/rain"
)

// Made is a payment that a receiver has made, as its own books have it.
type Made struct {
	Key    string // the withdrawal's
	User   string
	Amount rain.Money
}

// Sandbox is a receiver for tests. It is safe for concurrent use. What is nil or empty is what it cannot do, and is not
// checked.
type Sandbox struct {
	// New makes another provider for this receiver, as after a restart or on another node. Required.
	New func() withdraw.Provider
	// Made are the payments of the receiver's books, each as often as it was made. Nil: the provider makes none
	// outside.
	Made func() []Made
	// Go lets the receiver get on with all that it works on.
	Go func()
	// Confirm is the player of a payment, who does what they are asked to.
	Confirm func(key string)
	// Expire is the player of a payment, who does not, until it is too late.
	Expire func(key string)
	// Refused is a player whom the receiver refuses for good.
	Refused string
	// Breaker stands before the receiver and breaks requests.
	Breaker *Breaker
	// Secrets must not be in the receiver's name nor in errors.
	Secrets []string
}

func (s Sandbox) made(key string) (list []Made) {
	if s.Made == nil {
		return nil
	}
	for _, m := range s.Made() {
		if m.Key == key {
			list = append(list, m)
		}
	}
	return list
}
