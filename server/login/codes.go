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

// Life is how long a code can be used.
const Life = 2 * time.Minute

// codeLen is the length of a code, in letters and digits.
const codeLen = 26

// ErrNoCode is returned for a code that was used, has expired, or was never given.
var ErrNoCode = errors.New("the code was used before or has expired")

// Pass is what a code is exchanged for.
type Pass struct {
	User  string `json:"user"`
	Token string `json:"token"`
	Until int64  `json:"until"` // Unix ms: when the token expires
}

// Store keeps what it cannot read, for all nodes. [store.Logins] does.
type Store interface {
	// Keep keeps a value under a name for so long.
	Keep(ctx context.Context, name string, value []byte, life time.Duration) error
	// Take returns the value and removes it, in one step: of several who take it one gets it, and the others nil.
	Take(ctx context.Context, name string) ([]byte, error)
}

// Codes makes codes and takes them back. It is safe for concurrent use.
type Codes struct{ store Store }

// NewCodes makes a Codes.
func NewCodes(store Store) *Codes { return &Codes{store} }

// Make makes a code for a pass, which can be used for life.
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
	sealed := box.Seal(nil, nil, text, []byte(name)) //nolint:gosec // this cipher makes its nonces itself
	if err := c.store.Keep(ctx, name, sealed, life); err != nil {
		return "", fmt.Errorf("keep a login code: %w", err)
	}
	return code, nil
}

// Take exchanges a code for its pass; ErrNoCode where it is worth nothing. A code that was taken is gone, also where
// the answer is lost on its way.
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
		return Pass{}, ErrNoCode // somebody has written it who has no code
	}
	return pass, nil
}

// unfold makes of a code the name that its pass is kept under, and what the pass is sealed with. Neither tells the
// other, or the code.
func unfold(code string) (name string, box cipher.AEAD, err error) {
	const keyLen, nameLen = 32, 16
	key, err := hkdf.Key(sha256.New, []byte(code), nil, "redrain: key of a login code", keyLen)
	if err != nil {
		return "", nil, fmt.Errorf("derive a key: %w", err)
	}
	id, err := hkdf.Key(sha256.New, []byte(code), nil, "redrain: name of a login code", nameLen)
	if err != nil {
		return "", nil, fmt.Errorf("derive a name: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", nil, fmt.Errorf("make a cipher: %w", err)
	}
	box, err = cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return "", nil, fmt.Errorf("make a cipher: %w", err)
	}
	return hex.EncodeToString(id), box, nil
}
