package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Checkpoint returns the seal of a proof's checkpoint of the books, in hexadecimal. Changing such a row unnoticed
// takes the secret.
func (s Secret) Checkpoint(text []byte) string {
	h := hmac.New(sha256.New, derive(s, "checkpoint"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
