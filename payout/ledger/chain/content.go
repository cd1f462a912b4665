package chain

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"reflect"
	"strconv"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Content is the input of a hash: a list of values, each with its length before it. So two different lists have
// different bytes. A number is its decimal digits, as every database writes it. It must not be copied.
type Content struct {
	bytes  []byte    // not hashed yet
	digest hash.Hash // of the bytes before; nil: of none
	sum    Hash      // output of digest, which avoids an allocation
}

// hashedAtOnce is the number of buffered bytes at which they are hashed.
const hashedAtOnce = 4 << 10

// Int adds a whole number.
func (c *Content) Int(n int64) {
	var room [20]byte
	c.Bytes(strconv.AppendInt(room[:0], n, 10))
}

// Text adds a text, given in one or several parts.
func (c *Content) Text(parts ...string) {
	at := c.begin()
	for _, part := range parts {
		c.bytes = append(c.bytes, part...)
	}
	c.end(at)
}

// Bytes adds bytes as they are.
func (c *Content) Bytes(b []byte) {
	at := c.begin()
	c.bytes = append(c.bytes, b...)
	c.end(at)
}

// Null adds a missing value.
func (c *Content) Null() { c.bytes = binary.BigEndian.AppendUint32(c.bytes, math.MaxUint32) }

// Add adds values of kinds that a database stores: whole numbers, booleans as 1 or 0, texts and bytes. A nil is a NULL.
func (c *Content) Add(values ...any) {
	for _, value := range values {
		switch v := reflect.ValueOf(value); {
		case value == nil, (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil():
			c.Null()
		case v.Kind() == reflect.Pointer:
			c.Add(v.Elem().Interface())
		case v.CanInt():
			c.Int(v.Int())
		case v.Kind() == reflect.Bool && v.Bool():
			c.Int(1)
		case v.Kind() == reflect.Bool:
			c.Int(0)
		case v.Kind() == reflect.String:
			c.Text(v.String())
		default:
			c.Bytes(v.Bytes()) // it panics if the value is of another kind
		}
	}
}

// values adds values as a database returns them.
func (c *Content) values(of []sql.NullString) {
	for _, value := range of {
		if value.Valid {
			c.Text(value.String)
		} else {
			c.Null()
		}
	}
}

func (c *Content) begin() int {
	c.bytes = append(c.bytes, 0, 0, 0, 0)
	return len(c.bytes)
}

func (c *Content) end(at int) {
	binary.BigEndian.PutUint32(c.bytes[at-4:], uint32(len(c.bytes)-at)) //nolint:gosec // no value has 4 GB
	if len(c.bytes) >= hashedAtOnce {
		c.hash()
	}
}

// hash moves the buffered bytes into the digest.
func (c *Content) hash() {
	if c.digest == nil {
		c.digest = sha256.New()
	}
	c.digest.Write(c.bytes) // a hash never fails
	c.bytes = c.bytes[:0]
}

// Sum returns the hash of the added values. The next value begins another content.
func (c *Content) Sum() Hash {
	c.hash()
	c.digest.Sum(c.sum[:0])
	c.digest.Reset()
	return c.sum
}

// Txn adds a transaction: its kind, key, time and the hash of its source documents. The lines follow.
func (c *Content) Txn(kind, key string, at int64, papers []byte) {
	c.Text(kind)
	c.Text(key)
	c.Int(at)
	c.Bytes(papers)
}
