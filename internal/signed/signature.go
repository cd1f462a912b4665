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

// The headers of a request. Standard Webhooks writes them in lower case; HTTP ignores the case.
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

// Tolerance is the largest difference between the time of a request and the receiver's clock.
const Tolerance = 5 * time.Minute

// Errors of a request that must be rejected.
var (
	ErrNoSignature = errors.New("signed: the request has no webhook-id, webhook-timestamp or webhook-signature")
	ErrTooOld      = errors.New("signed: the request's timestamp is too far from this clock")
	ErrForged      = errors.New("signed: no signature of the request is right")
)

// ErrBadSecret refuses an invalid secret. It does not repeat it.
var ErrBadSecret = errors.New("a secret is whsec_ and 24 to 64 random bytes in base64")

// ParseSecret returns the key in a secret.
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

// sign returns the signature of a request, without its prefix.
func sign(key []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Verify returns an error unless the sender of a request has the key and made it at about now. The body must be the
// request's, byte for byte. A receiver calls it before it uses any part of the request.
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
	for signature := range strings.FieldsSeq(signatures) { // several, during a change of the key
		text, ok := strings.CutPrefix(signature, signaturePrefix)
		got, err := base64.StdEncoding.DecodeString(text)
		if ok && err == nil && hmac.Equal(got, want) {
			return nil
		}
	}
	return ErrForged
}
