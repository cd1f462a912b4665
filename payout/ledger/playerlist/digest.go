package playerlist

import (
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strconv"

	"redrain/internal/sqldb"
)

// Digest stands for all rows of a list's members, in any order: the sum of a hash of each, modulo 2^2048. So a change
// of some members costs as much as they are, and not as much as the list. The sum is that long because others that fit
// a shorter one can be found by whoever may choose many rows: of 256 bits in about 2^32 steps, of these in 2^90.
type Digest [digestBytes / 8]uint64

const digestBytes = 256

// Row is a row of a list's member.
type Row struct {
	Who                  string
	Added, Removed, Mark int64
}

// RowColumns are those of a Row, in the order in which ScanRow reads them.
const RowColumns = "who, added_at, removed_at, mark"

// ScanRow reads a row.
func ScanRow(scan sqldb.Scan) (r Row, err error) {
	err = scan(&r.Who, &r.Added, &r.Removed, &r.Mark)
	return r, err
}

// Add adds a row.
func (d *Digest) Add(r Row) { d.apply(r, bits.Add64) }

// Take takes a row out that was added.
func (d *Digest) Take(r Row) { d.apply(r, bits.Sub64) }

func (d *Digest) apply(r Row, do func(x, y, carry uint64) (uint64, uint64)) {
	var room [512]byte
	text := room[:0]
	for _, n := range []int64{r.Added, r.Removed, r.Mark} {
		text = append(strconv.AppendInt(text, n, 10), ',')
	}
	hash := sha3.SumSHAKE128(append(text, r.Who...), digestBytes)
	var carry uint64
	for i := range d {
		d[i], carry = do(d[i], binary.LittleEndian.Uint64(hash[i*8:]), carry)
	}
}

// String is the digest as it is stored.
func (d *Digest) String() string {
	raw := make([]byte, 0, digestBytes)
	for _, word := range d {
		raw = binary.LittleEndian.AppendUint64(raw, word)
	}
	return hex.EncodeToString(raw)
}

// ParseDigest is String backwards. What is none, because somebody has changed it, is that of no members: nothing fails
// by it, and the proof names the list until it is mended.
func ParseDigest(text string) (d Digest) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != digestBytes {
		return Digest{}
	}
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(raw[i*8:])
	}
	return d
}
