package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/dchest/siphash"
)

// Ring holds the valid keys: the newest, which makes seals, and the one before it, whose seals are still valid. It is
// safe for concurrent use.
type Ring struct{ keys atomic.Pointer[[]key] }

// NewRing returns a ring of secrets, the newest first. There must be at least one.
func NewRing(secrets ...Secret) *Ring {
	r := &Ring{}
	r.Replace(secrets...)
	return r
}

// Replace replaces the secrets, the newest first. There must be at least one.
func (r *Ring) Replace(secrets ...Secret) {
	keys := make([]key, len(secrets))
	for i, s := range secrets {
		keys[i] = newKey(s)
	}
	_ = keys[0]
	r.keys.Store(&keys)
}

// Size is the length of the text of a seal of a tap or a closing.
const Size = 11 // 8 bytes in base64

// AppendTap appends the seal of a player's tap to b. ticket is the tap's ticket; at is the time of the seal, in Unix
// ms.
func (r *Ring) AppendTap(b []byte, campaign, user string, ticket []byte, at int64) []byte {
	k := &(*r.keys.Load())[0]
	var room [256]byte
	return appendText(b, siphash.Hash(k.tap0, k.tap1, appendTap(room[:0], campaign, user, ticket, at)))
}

// CheckTap reports whether a seal is that of the tap.
func (r *Ring) CheckTap(seal, campaign, user, ticket string, at int64) bool {
	var room [256]byte
	text := appendTap(room[:0], campaign, user, ticket, at)
	for _, k := range *r.keys.Load() {
		if same(seal, siphash.Hash(k.tap0, k.tap1, text)) {
			return true
		}
	}
	return false
}

// appendTap writes the sealed text. None of its parts has a zero byte.
func appendTap[T string | []byte](b []byte, campaign, user string, ticket T, at int64) []byte {
	b = append(append(b, campaign...), 0)
	b = append(append(b, user...), 0)
	b = append(append(b, ticket...), 0)
	return binary.BigEndian.AppendUint64(b, uint64(at)) //nolint:gosec // its bits
}

// Closing returns the seal of the order to return the rest of a shard to the sponsor.
func (r *Ring) Closing(campaign string, shard int, at int64) string {
	k := &(*r.keys.Load())[0]
	return string(appendText(nil, siphash.Hash(k.closing0, k.closing1, closing(campaign, shard, at))))
}

// CheckClosing reports whether a seal is that of the closing of a shard.
func (r *Ring) CheckClosing(seal, campaign string, shard int, at int64) bool {
	return slices.ContainsFunc(*r.keys.Load(), func(k key) bool {
		return same(seal, siphash.Hash(k.closing0, k.closing1, closing(campaign, shard, at)))
	})
}

func closing(campaign string, shard int, at int64) []byte {
	b := append([]byte(campaign), 0)
	b = append(strconv.AppendInt(b, int64(shard), 10), 0)
	return binary.BigEndian.AppendUint64(b, uint64(at)) //nolint:gosec // its bits
}

func appendText(b []byte, sum uint64) []byte {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], sum)
	return base64.RawURLEncoding.AppendEncode(b, raw[:])
}

func same(seal string, sum uint64) bool {
	var room [Size]byte
	return subtle.ConstantTimeCompare([]byte(seal), appendText(room[:0], sum)) == 1
}

// MessageSize is the length of the text of a seal of a message or a notice.
const MessageSize = 43 // 32 bytes in base64

// AppendMessage appends the seal of a message to b: an HMAC-SHA256.
func (r *Ring) AppendMessage(b, message []byte) []byte {
	return appendSum(b, (*r.keys.Load())[0].message, message)
}

// CheckMessage reports whether a seal is that of the message.
func (r *Ring) CheckMessage(seal, message []byte) bool {
	return slices.ContainsFunc(*r.keys.Load(), func(k key) bool { return isSum(seal, k.message, message) })
}

// AppendNotice appends the seal of a notice to b: an HMAC-SHA256.
func (r *Ring) AppendNotice(b, notice []byte) []byte {
	return appendSum(b, (*r.keys.Load())[0].notice, notice)
}

// CheckNotice reports whether a seal is that of the notice.
func (r *Ring) CheckNotice(seal, notice []byte) bool {
	return slices.ContainsFunc(*r.keys.Load(), func(k key) bool { return isSum(seal, k.notice, notice) })
}

func appendSum(b []byte, k hmacKey, text []byte) []byte {
	var room [sha256.Size]byte
	return base64.RawURLEncoding.AppendEncode(b, k.sum(room[:0], text))
}

func isSum(seal []byte, k hmacKey, text []byte) bool {
	var room [MessageSize]byte
	return hmac.Equal(seal, appendSum(room[:0], k, text))
}
