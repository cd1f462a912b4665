package payout

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"redrain/rain"
)

// EncodeEntry returns the text of an entry, as stored in messages and dead letters. Its first line is
// "<campaign> <shard> <id> <time of the seals>", and " <epoch>" if there is one.
func EncodeEntry(e rain.Entry) []byte {
	size := 64 + len(e.Ref.Campaign)
	for i := range e.Wins {
		size += 24 + len(e.Wins[i].User) + len(e.Wins[i].Drop)
	}
	b := make([]byte, 0, size)
	b = append(append(b, e.Ref.Campaign...), ' ')
	b = append(strconv.AppendInt(b, int64(e.Ref.Shard), 10), ' ')
	b = append(append(b, e.Ref.ID...), ' ')
	b = strconv.AppendInt(b, e.SealedAt, 10)
	if e.Epoch > 0 {
		b = strconv.AppendInt(append(b, ' '), e.Epoch, 10)
	}
	b = append(b, '\n')
	if e.Reclaim != nil {
		b = append(e.Reclaim.Numbers.Append(b), '\n')
		return append(append(b, reclaimMark...), e.Reclaim.Seal...)
	}
	packets := e.Packets()
	b = packets.Append(b)
	for i := range e.Wins {
		w := &e.Wins[i]
		b = append(append(append(b, '\n'), w.Seal...), ' ')
		b = append(append(b, w.Drop...), ' ')
		b = append(b, w.User...)
	}
	return b
}

// reclaimMark begins the last line of a reclaim. It cannot be a win's seal, which is longer.
const reclaimMark = "reclaim "

// errText is the error of a text that EncodeEntry did not write.
var errText = errors.New("invalid text of an entry")

// DecodeEntry is the inverse of EncodeEntry. The strings in the entry share memory.
func DecodeEntry(data []byte) (rain.Entry, error) {
	head, rest, _ := strings.Cut(string(data), "\n")
	packets, lines, _ := strings.Cut(rest, "\n")
	e, ok := decodeHead(head)
	numbers, err := rain.ParseNumbers(packets, rain.MaxPackets)
	if !ok || err != nil || len(numbers) == 0 {
		return e, errText
	}
	if mark, reclaim := strings.CutPrefix(lines, reclaimMark); reclaim {
		e.Reclaim = &rain.Reclaim{Numbers: numbers, Seal: mark}
		return e, nil
	}
	e.Wins = make([]rain.Win, 0, strings.Count(lines, "\n")+1)
	for line := range strings.SplitSeq(lines, "\n") {
		seal, rest, _ := strings.Cut(line, " ")
		drop, user, ok := strings.Cut(rest, " ") // the user may contain spaces
		packet, more := numbers.Take()
		if !ok || !more {
			return e, errText
		}
		e.Wins = append(e.Wins, rain.Win{User: user, Packet: packet, Drop: drop, Seal: seal})
	}
	if len(numbers) > 0 {
		return e, errText
	}
	return e, nil
}

// decodeHead reads the first line.
func decodeHead(line string) (e rain.Entry, ok bool) {
	f := strings.Split(line, " ")
	if len(f) == 5 {
		var ok bool
		if e.Epoch, ok = rain.ParseInt(f[4]); !ok || e.Epoch == 0 {
			return e, false
		}
		f = f[:4]
	}
	if len(f) != 4 {
		return e, false
	}
	shard, err1 := strconv.Atoi(f[1])
	at, err2 := strconv.ParseInt(f[3], 10, 64)
	e.Ref, e.SealedAt = rain.EntryRef{Campaign: f[0], Shard: shard, ID: f[2]}, at
	return e, err1 == nil && err2 == nil
}

// Sealer seals messages and verifies their seals; seal.Ring implements it.
type Sealer interface {
	AppendMessage(b, message []byte) []byte
	CheckMessage(seal, message []byte) bool
}

// ErrSeal is the error of a message that no node of this installation wrote.
var ErrSeal = errors.New("invalid seal: no node of this installation wrote this message")

// SealMessage puts a seal before an entry's text. The result is a message of the stream.
func SealMessage(s Sealer, text []byte) []byte {
	b := make([]byte, 0, len(text)+64)
	b = append(s.AppendMessage(b, text), '\n')
	return append(b, text...)
}

// OpenMessage returns the entry in a message, or ErrSeal.
func OpenMessage(s Sealer, message []byte) (rain.Entry, error) {
	seal, text, _ := bytes.Cut(message, []byte("\n"))
	if !s.CheckMessage(seal, text) {
		return rain.Entry{}, ErrSeal
	}
	return DecodeEntry(text)
}
