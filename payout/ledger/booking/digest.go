package booking

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
