package auth

import (
	"crypto/rand"
	"encoding/hex"

	"redrain/rain"
)

// GuestName returns the id of a new guest: rain.GuestPrefix and 80 random bits in hex. Guests have accounts with
// money, so two must never get the same name. 80 random bits make that practically certain without a central
// registry.
func GuestName() string {
	var b [rain.GuestBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return rain.GuestPrefix + hex.EncodeToString(b[:])
}
