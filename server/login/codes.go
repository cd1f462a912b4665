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

// ofCode separates login codes from other values of the store.
const ofCode = "redrain: name and key of a login code"

// Make issues a code for a pass, with a life.
func (c *Codes) Make(ctx context.Context, pass Pass, life time.Duration) (code string, err error) {
	return keep(ctx, c.store, ofCode, pass, life)
}

// Take exchanges a code for its pass, or returns ErrNoCode. A code works once, even if the answer is lost in flight.
func (c *Codes) Take(ctx context.Context, code string) (pass Pass, err error) {
	err = take(ctx, c.store, ofCode, code, &pass)
	return pass, err
}

// keep stores a value of a kind, sealed, and returns the code that take exchanges for it.
func keep(ctx context.Context, store Store, kind string, value any, life time.Duration) (code string, err error) {
	code = rand.Text() // 130 bits
	name, box, err := unfold(kind, code)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write a login: %w", err)
	}
	sealed := box.Seal(nil, nil, text, []byte(name)) //nolint:gosec // this cipher generates its nonces
	if err := store.Keep(ctx, name, sealed, life); err != nil {
		return "", fmt.Errorf("keep a login: %w", err)
	}
	return code, nil
}

// take reads the value of a code, once, or returns ErrNoCode.
func take(ctx context.Context, store Store, kind, code string, value any) error {
	if len(code) != codeLen {
		return ErrNoCode
	}
	name, box, err := unfold(kind, code)
	if err != nil {
		return err
	}
	sealed, err := store.Take(ctx, name)
	if err != nil {
		return fmt.Errorf("take a login: %w", err)
	}
	if sealed == nil {
		return ErrNoCode
	}
	text, err := box.Open(nil, nil, sealed, []byte(name))
	if err != nil || json.Unmarshal(text, value) != nil {
		return ErrNoCode // written by a party without the code
	}
	return nil
}

// unfold derives from a code the name of its value in the store, and the cipher of the value. Neither discloses the
// other, or the code.
func unfold(kind, code string) (name string, box cipher.AEAD, err error) {
	const nameLen, keyLen = 16, 32
	both, err := hkdf.Key(sha256.New, []byte(code), nil, kind, nameLen+keyLen)
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
