package rain_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

func TestCheckUser(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"u", "user-1", "张三", "a b", "a:b", "auth0|5f7c", "日本語@例え.jp", strings.Repeat("x", 128),
		"👩👧"} {
		testenv.WantErr(t, rain.CheckUser(id), nil, id, "is refused")
	}
	for _, id := range []string{
		"", strings.Repeat("x", 129), strings.Repeat("张", 43), "a\xff", "\xed\xa0\x80", // a lone surrogate
		"a\nb", "a\rb", "a\tb", "\x00", "a\x1b[2J", "\x7f", "a\u0085b", "a\u2028b", "a\u2029b",
		"a\u200bb", "a\u200db", "\ufeffa", "a\u2060", "a\u00adb", "\u202ea", "a\u2066b\u2069", "a\u3164", "a\ufe0f",
	} {
		testenv.WantFail(t, rain.CheckUser(id), id, "is accepted")
	}
}

// TestCheckPlayer: an id that a URL cannot carry is no player's. Others that look like it are.
func TestCheckPlayer(t *testing.T) {
	t.Parallel()
	for _, id := range []string{".", "..", "a\nb"} {
		testenv.WantFail(t, rain.CheckPlayer(id), id, "is accepted")
	}
	for _, id := range []string{"...", ".a", "../x", "%2E%2E", "a//b"} {
		testenv.WantErr(t, rain.CheckPlayer(id), nil, id, "is refused")
	}
	testenv.WantErr(t, rain.CheckUser(".."), nil, "a recorded win's player")
}

// TestCheckList: a list's name is any text that no path and no command line misreads.
func TestCheckList(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"vip", "员工名单", "红", "🧧 VIP", "a b", "100%", "...", ".a", "?#", strings.Repeat("红", 21),
	} {
		testenv.WantErr(t, rain.CheckList(name), nil, name, "is refused")
	}
	for _, name := range []string{"", ".", "..", "../x", "红/包", `a\b`, "-a", " a", "a ", "a\u3000", "a\nb",
		"a\u200bb", "a\xff", strings.Repeat("红", 22)} {
		testenv.WantFail(t, rain.CheckList(name), name, "is accepted")
	}
}

// TestHomeShardSpreadsPlayers tries forms of ids that real systems hand out. Plain FNV-1a fails the ones
// that repeat themselves.
func TestHomeShardSpreadsPlayers(t *testing.T) {
	t.Parallel()
	const players = 20_000
	for name, id := range map[string]func(i int) string{
		"numbers":      func(i int) string { return fmt.Sprint(i) },
		"even numbers": func(i int) string { return fmt.Sprint(2 * i) },
		"snowflakes":   func(i int) string { return fmt.Sprint(int64(1_700_000_000_000_000_000) + int64(i)<<22) },
		"hex":          func(i int) string { return fmt.Sprintf("%024x", i*16) },
		"binary":       func(i int) string { return fmt.Sprintf("%024b", i) },
		"padded":       func(i int) string { return fmt.Sprintf("user-%08d", i) },
		"phones":       func(i int) string { return fmt.Sprintf("+86138%08d", i*7_919) },
		"addresses":    func(i int) string { return fmt.Sprintf("player%d@example.com", i) },
		"random":       func(i int) string { return fmt.Sprintf("guest-%x", seedOf(i).Hex()[:16]) },
		"repeated":     func(i int) string { return fmt.Sprintf("%d%d", i, i) },
		"mirrored":     func(i int) string { return fmt.Sprintf("u%d:%d", i, i) },
	} {
		for _, shards := range []int{2, 3, 4, 16, 100, 256} {
			counts := make([]int, shards)
			for i := range players {
				counts[rain.HomeShard(id(i), shards)]++
			}
			if d := chiSquare(counts); d > tooFar {
				t.Errorf("%s on %d shards: %.1f deviations from even", name, shards, d)
			}
		}
	}
}

func TestHomeShardIsInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		user, shards := rapid.String().Draw(t, "user"), rapid.IntRange(-1, rain.MaxShards).Draw(t, "shards")
		got := rain.HomeShard(user, shards)
		if got < 0 || got >= max(shards, 1) || got != rain.HomeShard(user, shards) {
			t.Fatalf("shard %d of %d", got, shards)
		}
	})
}

func TestShardRangesCoverThePackets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, rain.MaxShards).Draw(t, "shards")
		packets := rapid.OneOf(rapid.IntRange(shards, shards+600), rapid.IntRange(shards, rain.MaxPackets)).Draw(t,
			"packets")
		next, smallest, largest := 0, packets, 0
		for s := range shards {
			first, n := rain.ShardRange(packets, shards, s)
			if first != next {
				t.Fatalf("shard %d begins at %d, the one before ended at %d", s, first, next)
			}
			next, smallest, largest = first+n, min(smallest, n), max(largest, n)
		}
		if next != packets || smallest < 1 || largest-smallest > 1 {
			t.Fatalf("%d packets on %d shards end at %d, with %d to %d each", packets, shards, next, smallest, largest)
		}
	})
}

func TestIsGuest(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"guest-0123456789abcdef0123": true,
		"guest-0123456789abcdef012":  false, "guest-0123456789abcdef01234": false, "guest-": false, "": false,
		"0123456789abcdef0123": false, "guest-0123456789ABCDEF0123": false, "guest-0123456789abcdefg123": false,
		"Guest-0123456789abcdef0123": false, "guest_0123456789abcdef0123": false,
	} {
		testenv.Equal(t, rain.IsGuest(id), want, "%q", id)
	}
}
