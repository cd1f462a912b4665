package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync"
)

// SecretBytes is the length of a secret.
const SecretBytes = 32

// Secret is the key material of seals. It prints as "[secret]", so that logs do not reveal it.
type Secret [SecretBytes]byte

// NewSecret draws a secret.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// Format hides the secret from every verb of fmt.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// LogValue hides the secret in structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText hides the secret from encoders such as JSON's.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// key holds the keys that are derived from one secret.
type key struct {
	tap0, tap1         uint64 // SipHash's key
	closing0, closing1 uint64
	message, notice    hmacKey
}

// newKey derives a key for each purpose, so that a seal of one kind is never one of another.
func newKey(secret Secret) key {
	tap, closing := derive(secret, "tap"), derive(secret, "closing")
	return key{
		tap0: binary.BigEndian.Uint64(tap), tap1: binary.BigEndian.Uint64(tap[8:]),
		closing0: binary.BigEndian.Uint64(closing), closing1: binary.BigEndian.Uint64(closing[8:]),
		message: newHMACKey(derive(secret, "message")), notice: newHMACKey(derive(secret, "notice")),
	}
}

func derive(secret Secret, purpose string) []byte {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte("redrain seal " + purpose + " v1"))
	return h.Sum(nil)
}

// hmacKey makes HMACs with one key. The hashes are pooled: starting a hash with a key costs as much as a short text.
type hmacKey struct{ idle *sync.Pool }

func newHMACKey(key []byte) hmacKey {
	return hmacKey{&sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// sum appends the HMAC of a text to b.
func (k hmacKey) sum(b, text []byte) []byte {
	h := k.idle.Get().(hash.Hash) //nolint:forcetypeassert // as New makes it
	h.Reset()
	h.Write(text)
	b = h.Sum(b)
	k.idle.Put(h)
	return b
}
