package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Life is the life of a code.
const Life = 2 * time.Minute

// codeLen is the length of a code, in letters and digits.
const codeLen = 26

// ErrNoCode means that a code was used, has expired, or never existed.
var ErrNoCode = errors.New("the code was used before or has expired")

// Pass is the login for which a code is exchanged.
type Pass struct {
	User  string `json:"user"`
	Token string `json:"token"`
	Until int64  `json:"until"` // expiry of the token, Unix ms
}

// Store keeps encrypted values for all nodes. [store.Logins] implements it.
type Store interface {
	// Keep stores a value under a name for its life.
	Keep(ctx context.Context, name string, value []byte, life time.Duration) error
	// Take returns the value and removes it, atomically. If several callers take it, one gets it, and the others get
	// nil.
	Take(ctx context.Context, name string) ([]byte, error)
}

// Codes issues and redeems codes. It is safe for concurrent use.
type Codes struct{ store Store }

// NewCodes returns Codes on a store.
func NewCodes(store Store) *Codes { return &Codes{store} }

// Make issues a code for a pass, with a life.
func (c *Codes) Make(ctx context.Context, pass Pass, life time.Duration) (code string, err error) {
	code = rand.Text() // 130 bits
	name, box, err := unfold(code)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(pass)
	if err != nil {
		return "", fmt.Errorf("write a pass: %w", err)
	}
	sealed := box.Seal(nil, nil, text, []byte(name)) //nolint:gosec // this cipher generates its nonces
	if err := c.store.Keep(ctx, name, sealed, life); err != nil {
		return "", fmt.Errorf("keep a login code: %w", err)
	}
	return code, nil
}

// Take exchanges a code for its pass, or returns ErrNoCode. A code works once, even if the answer is lost in flight.
func (c *Codes) Take(ctx context.Context, code string) (Pass, error) {
	if len(code) != codeLen {
		return Pass{}, ErrNoCode
	}
	name, box, err := unfold(code)
	if err != nil {
		return Pass{}, err
	}
	sealed, err := c.store.Take(ctx, name)
	if err != nil {
		return Pass{}, fmt.Errorf("take a login code: %w", err)
	}
	if sealed == nil {
		return Pass{}, ErrNoCode
	}
	text, err := box.Open(nil, nil, sealed, []byte(name))
	var pass Pass
	if err != nil || json.Unmarshal(text, &pass) != nil {
		return Pass{}, ErrNoCode // written by a party without the code
	}
	return pass, nil
}

// unfold derives from a code the name of its pass in the store, and the cipher of the pass. Neither discloses the
// other, or the code.
func unfold(code string) (name string, box cipher.AEAD, err error) {
	const nameLen, keyLen = 16, 32
	both, err := hkdf.Key(sha256.New, []byte(code), nil, "redrain: name and key of a login code", nameLen+keyLen)
	if err != nil {
		return "", nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(both[nameLen:])
	if err != nil {
		return "", nil, fmt.Errorf("make a cipher: %w", err)
	}
	box, err = cipher.NewGCMWithRandomNonce(block)
	return hex.EncodeToString(both[:nameLen]), box, err
}
