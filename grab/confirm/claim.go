package confirm

import (
	"strconv"
	"strings"

	"redrain/rain"
)

// claim is the epoch in a shard's state: "<number> <holder>", and " checked" when Redis has the stream's wins.
type claim struct {
	number  int64
	holder  string
	checked bool
}

const checkedMark = " checked"

func (c claim) String() string {
	text := strconv.FormatInt(c.number, 10) + " " + c.holder
	if c.checked {
		text += checkedMark
	}
	return text
}

// parseClaim is the inverse of String. An invalid text is no claim.
func parseClaim(text string) (c claim) {
	text, c.checked = strings.CutSuffix(text, checkedMark)
	number, holder, _ := strings.Cut(text, " ")
	c.number, _ = rain.ParseInt(number)
	c.holder = holder
	return c
}

// standing is the relation of a master to the newest record of a shard.
type standing int

const (
	isOpen       standing = iota // it holds the epoch
	isSuspected                  // it holds the epoch, and is not compared with the stream yet
	hasBegun                     // it has begun the next epoch, which is not in the stream yet
	isSuccessor                  // it continues the holder's history
	isSuperseded                 // another master has the epoch
)

// stand returns the standing of a master whose history has the claim.
func stand(c claim, history string, r rain.Epoch) standing {
	descends := c.number == r.Number && c.holder == r.Holder
	switch {
	case descends && history == r.Holder && c.checked:
		return isOpen
	case descends && history == r.Holder:
		return isSuspected
	case descends:
		return isSuccessor
	case c.number <= r.Number:
		return isSuperseded
	case c.holder == history:
		return hasBegun
	default:
		return isSuccessor // of one that had begun; and the stream may have lost its record
	}
}
