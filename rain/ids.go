package rain

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths are in bytes of UTF-8.
const (
	MaxUserLen = 128 // of a player's id
	MaxListLen = 64  // of the name of a list of players
)

// CheckUser returns an error unless a player's id is 1 to MaxUserLen bytes of UTF-8. Control characters, line
// separators, characters of width zero and characters that change the direction of writing are refused. Ids come from
// tokens that others sign, and travel through logs, CSV and line-based records. Two ids that look the same must be
// the same.
func CheckUser(id string) error {
	if err := checkVisible(id, MaxUserLen); err != nil {
		return fmt.Errorf("a user id %w", err)
	}
	return nil
}

// CheckPlayer is CheckUser for a player who comes in: it also refuses the ids that a URL cannot carry. Browsers and
// proxies remove . and .. from paths, so such a player could not be looked up or banned. Recorded wins are only held to
// CheckUser, and are paid.
func CheckPlayer(id string) error {
	if id == "." || id == ".." {
		return errors.New("a user id is neither . nor .., which no URL can name")
	}
	return CheckUser(id)
}

// CheckList returns an error unless a name can be a list's: visible words, as in a campaign's name. The name is also
// a part of a URL's path, where proxies interpret slashes and dots, and an argument of a command.
func CheckList(name string) error {
	if err := checkVisible(name, MaxListLen); err != nil {
		return err
	}
	if name == "." || name == ".." || name[0] == '-' || strings.ContainsAny(name, `/\`) ||
		strings.TrimSpace(name) != name {
		return errors.New(`has no / and no \, begins with no - or space, ends with none, and is neither . nor .. alone`)
	}
	return nil
}

// checkVisible returns an error unless a text is 1 to so many bytes of visible characters, on one line.
func checkVisible(text string, most int) error {
	if text == "" || len(text) > most || !utf8.ValidString(text) {
		return fmt.Errorf("is 1 to %d bytes of UTF-8", most)
	}
	for _, r := range text {
		if IsControl(r) {
			return errors.New("has no control characters")
		}
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return fmt.Errorf("has no invisible character, such as U+%04X", r)
		}
	}
	return nil
}

// CheckText returns an error unless an operator's free text, such as a name or a reason, is 1 to so many bytes of one
// line. Ids have a stricter rule: a text may have invisible characters, because emojis are joined by them.
func CheckText(text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "" || len(text) > most || !utf8.ValidString(text):
		return fmt.Errorf("is required: 1 to %d bytes of UTF-8", most)
	case strings.ContainsFunc(text, IsControl):
		return errors.New("has no control characters")
	}
	return nil
}

// IsControl reports whether a character controls a terminal, ends a line, or changes the direction of the text around
// it. Such a character could make a text look like another one.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// HomeShard returns the shard on which a player takes part, 0 to shards-1: FNV-1a of the id, its halves folded,
// modulo shards. It never changes for a player, so one shard alone can enforce the player's limits on wins and taps.
// The fold is needed because the lowest bit of FNV-1a is the parity of the bytes. Without the fold every id of a form
// such as "42:42" would fall on the same half of the shards.
func HomeShard(user string, shards int) int {
	if shards <= 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(user))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(shards)) //nolint:gosec // below shards, which is at most 256
}

// ShardRange returns the part of the split that a shard is stocked with: packets first … first+n-1. The parts differ
// by at most one packet.
func ShardRange(packets, shards, shard int) (first, n int) {
	base, rest := packets/shards, packets%shards
	first = shard*base + min(shard, rest)
	n = base
	if shard < rest {
		n++
	}
	return first, n
}

// GuestPrefix begins the id of every guest: a player under a generated name.
const GuestPrefix = "guest-"

// GuestBytes is the number of random bytes that follow GuestPrefix, in lower-case hex.
const GuestBytes = 10

// IsGuest reports whether an id has the form of a guest's id. The prefix alone does not make a guest: ids in tokens
// that others sign may begin with it too.
func IsGuest(user string) bool {
	name, ok := strings.CutPrefix(user, GuestPrefix)
	return ok && len(name) == 2*GuestBytes && strings.Trim(name, "0123456789abcdef") == ""
}
