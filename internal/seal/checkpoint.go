package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Checkpoint is the seal of what a proof of the books has found and goes on from, in hexadecimal. Whoever changes
// such a
// row has to have the secret to make it fit.
func (s Secret) Checkpoint(text []byte) string {
	h := hmac.New(sha256.New, derive(s, "checkpoint"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
