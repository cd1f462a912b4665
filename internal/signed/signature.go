package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a request. Standard Webhooks writes them in small letters; to HTTP they are the same.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const (
	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
	// leastSecret and mostSecret are Standard Webhooks' limits of a key, in bytes.
	leastSecret, mostSecret = 24, 64
)

// Tolerance is how far the time of a request may be from the receiver's clock.
const Tolerance = 5 * time.Minute

// Errors of a request that must not be believed.
var (
	ErrNoSignature = errors.New("signed: the request has no webhook-id, webhook-timestamp or webhook-signature")
	ErrTooOld      = errors.New("signed: the request's timestamp is too far from this clock")
	ErrForged      = errors.New("signed: no signature of the request is right")
)

// ErrBadSecret is the error of a secret that cannot be one. It does not repeat it.
var ErrBadSecret = errors.New("a secret is whsec_ and 24 to 64 random bytes in base64")

// ParseSecret gives the key that a secret stands for.
func ParseSecret(secret string) (key []byte, err error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, ErrBadSecret
	}
	key, err = base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return nil, ErrBadSecret
	}
	return key, nil
}

// sign is the signature of a request, without its prefix.
func sign(key []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Verify tells whether a request comes from who knows the key and was made at about now. body is the request's,
// byte for byte as it came. A receiver calls it before it believes anything.
func Verify(key []byte, header http.Header, body []byte, now time.Time) error {
	id, timestamp, signatures := header.Get(headerID), header.Get(headerTimestamp), header.Get(headerSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return ErrNoSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrNoSignature
	}
	if age := now.Unix() - seconds; age > int64(Tolerance.Seconds()) || age < -int64(Tolerance.Seconds()) {
		return ErrTooOld
	}
	want := sign(key, id, timestamp, body)
	for signature := range strings.FieldsSeq(signatures) { // several, while a key is being changed
		text, ok := strings.CutPrefix(signature, signaturePrefix)
		got, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return ErrForged
}
