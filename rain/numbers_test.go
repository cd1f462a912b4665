package rain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

func genNumbers() *rapid.Generator[rain.Numbers] {
	return rapid.Custom(func(t *rapid.T) (numbers rain.Numbers) {
		for range rapid.IntRange(0, 6).Draw(t, "ranges") {
			first := rapid.IntRange(0, 40).Draw(t, "first")
			numbers = append(numbers, rain.Range{First: first, Last: first + rapid.IntRange(0, 8).Draw(t, "more")})
		}
		return numbers
	})
}

func TestNumbersComeBackFromTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := genNumbers().Draw(t, "numbers")
		testenv.Equal(t, testenv.Got(rain.ParseNumbers(numbers.String(), 100)).Must(t), numbers, "what came back")
		if all := slices.Collect(numbers.Each()); len(all) != numbers.Count() {
			t.Fatalf("%v: %d numbers, counted %d", numbers, len(all), numbers.Count())
		}
		var taken []int
		for rest := slices.Clone(numbers); ; {
			packet, ok := rest.Take()
			if !ok {
				break
			}
			taken = append(taken, packet)
		}
		if !slices.Equal(taken, slices.Collect(numbers.Each())) {
			t.Fatalf("%v was taken as %v", numbers, taken)
		}
	})
}

func TestParseNumbersRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "1", "1-", "-1", "2-1", "01-2", "1-2 ", "1-2  3-4", "1-2,3-4", "1-100", "a-b",
		"1-2-3",
		"1-9999999999999999"} {
		testenv.WantFail(t, testenv.Err(rain.ParseNumbers(text, 100)), text, "was read")
	}
	if numbers, err := rain.ParseNumbers("", 100); err != nil || numbers != nil {
		t.Errorf("no numbers were read as %v (%v)", numbers, err)
	}
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		came, gone := genNumbers().Draw(t, "came"), genNumbers().Draw(t, "gone")
		count := map[int]int{}
		for packet := range came.Each() {
			count[packet]++
		}
		for packet := range gone.Each() {
			count[packet]--
		}
		var want []int
		for packet := range 60 {
			if count[packet] > 0 {
				want = append(want, packet)
			}
		}
		rest := rain.Remaining(came, gone)
		if got := slices.Collect(rest.Each()); !slices.Equal(got, want) {
			t.Fatalf("%v without %v is %v, want %v", came, gone, rest, want)
		}
		for i := 1; i < len(rest); i++ {
			if rest[i].First <= rest[i-1].Last+1 {
				t.Fatalf("%v is not as short as it could be", rest)
			}
		}
	})
}

func TestMoneyString(t *testing.T) {
	t.Parallel()
	for m, want := range map[rain.Money]string{
		0: "0.00", 1: "0.01", 9: "0.09", 10: "0.10", 88: "0.88", 100: "1.00", 101: "1.01", 123_456: "1234.56",
		-1: "-0.01", -99: "-0.99", -100: "-1.00", -123_456: "-1234.56", rain.MaxBudget: "10000000000000.00",
		math.MaxInt64: "92233720368547758.07", math.MinInt64: "-92233720368547758.08",
	} {
		testenv.Equal(t, m.String(), want, "%d prints as", int64(m))
	}
}

// TestSumIsExactOrRefused compares with numbers of any size. The running total counts, as documented: it may not
// overflow in between.
func TestSumIsExactOrRefused(t *testing.T) {
	t.Parallel()
	amount := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Map(amount, toMoney), 0, 8).Draw(t, "amounts")
		exact, fits := new(big.Int), true
		for _, a := range amounts {
			exact.Add(exact, big.NewInt(int64(a)))
			fits = fits && exact.IsInt64()
		}
		got, err := rain.Sum(amounts)
		switch {
		case fits && (err != nil || int64(got) != exact.Int64()):
			t.Fatalf("%d (%v), want %s", got, err, exact)
		case !fits && (!errors.Is(err, rain.ErrMoneyOverflow) || got != 0):
			t.Fatalf("%d (%v), though %s does not fit", got, err, exact)
		}
	})
}

func TestLargestBudgetIsExactInABrowser(t *testing.T) {
	t.Parallel()
	if rain.MaxBudget >= 1<<53 {
		t.Error("JavaScript's numbers are exact below 2^53 only")
	}
}

func TestClaimIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		campaign := rapid.StringMatching(`[a-z0-9-]{1,30}`).Draw(t, "campaign")
		packet := rapid.OneOf(rapid.IntRange(0, rain.MaxPackets-1), rapid.IntRange(0, math.MaxInt)).Draw(t, "packet")
		c, p, err := rain.ParseClaimID(rain.ClaimID(campaign, packet))
		if err != nil || c != campaign || p != packet {
			t.Fatalf("%s, %d came back as %s, %d (%v)", campaign, packet, c, p, err)
		}
	})
}

func TestParseClaimIDRefusesWhatNoClaimIsCalled(t *testing.T) {
	t.Parallel()
	for _, claim := range []string{
		"", "-", "c", "c-", "-1", "c-01", "c-+1", "c- 1", "c-1 ", "c-1.0", "c-0x1", "c-a", "c-9223372036854775808",
		"c-1\n",
	} {
		if c, p, err := rain.ParseClaimID(claim); err == nil || c != "" || p != 0 {
			t.Errorf("%q was read as %q, %d", claim, c, p)
		}
	}
}

func TestEntryRef(t *testing.T) {
	t.Parallel()
	ref := rain.EntryRef{Campaign: "c1", Shard: 12, ID: "1763712000000-7"}
	testenv.Equal(t, ref.String(), "c1.12.1763712000000-7", "it is called")
	if ms, seq, err := ref.Position(); err != nil || ms != 1_763_712_000_000 || seq != 7 {
		t.Errorf("its position is %d, %d (%v)", ms, seq, err)
	}
	if ms, seq, err := (rain.EntryRef{ID: "0-0"}).Position(); err != nil || ms != 0 || seq != 0 {
		t.Errorf("the first position is %d, %d (%v)", ms, seq, err)
	}
	for _, id := range []string{"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-a", "-1-1", "1--1",
		"9223372036854775808-0", "+1-1", "1-+1", "01-1", "1-00"} {
		if ms, seq, err := (rain.EntryRef{ID: id}).Position(); err == nil || ms != 0 || seq != 0 {
			t.Errorf("%q has the position %d, %d", id, ms, seq)
		}
	}
}

// TestSeedIsNeverPrinted goes through the ways in which a seed could reach a log.
func TestSeedIsNeverPrinted(t *testing.T) {
	t.Parallel()
	seed := rain.Seed{0xde, 0xad, 0xbe, 0xef}
	r := rain.Rain{ID: "r1", Seed: seed}
	c := rain.Campaign{ID: "c1", SplitSeed: seed, Rains: []rain.Rain{r}}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%t",
		"%5.1f"} {
		for _, value := range []any{seed, &seed, r, &r, c, []rain.Seed{seed}, map[string]rain.Seed{"a": seed}} {
			_, _ = fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	for _, value := range []any{seed, r, c, map[string]any{"seed": seed}} {
		data := testenv.Got(json.Marshal(value)).Must(t)
		out.Write(data)
	}
	var logs bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logs, nil), slog.NewJSONHandler(&logs, nil)} {
		slog.New(handler).Info("a rain", "seed", seed, "rain", r, "pointer", &r, "campaign", c)
	}
	text := strings.ToLower(out.String() + logs.String())
	for _, leak := range []string{"deadbeef", "de ad", "222 173", "336 255", "11011110", "u+00de", "0xde", "222,173",
		"3q2+7w"} {
		if i := strings.Index(text, leak); i >= 0 {
			t.Errorf("%q stands in: %s", leak, text[max(0, i-80):min(len(text), i+80)])
		}
	}
	if !strings.Contains(text, "[secret]") {
		t.Error("nothing says that a secret was left out")
	}
}

// TestSeedSaysThatItIsSecret: in each way in which it is not printed.
func TestSeedSaysThatItIsSecret(t *testing.T) {
	t.Parallel()
	seed := seedOf(1)
	text := testenv.Got(seed.MarshalText()).Must(t)
	for way, got := range map[string]string{
		"String": seed.String(), "Format": fmt.Sprintf("%d", seed), "MarshalText": string(text),
		"LogValue": seed.LogValue().String(),
	} {
		testenv.Equal(t, got, "[secret]", "%s", way)
	}
}

func TestParseSeed(t *testing.T) {
	t.Parallel()
	seed := seedOf(1)
	testenv.Got(rain.ParseSeed(seed.Hex())).Want(t, seed, "the hex of a seed is not read back")
	testenv.Got(rain.ParseSeed(strings.ToUpper(seed.Hex()))).Want(t, seed, "upper case")
	for _, text := range []string{"", "00", seed.Hex()[1:], seed.Hex() + "0", seed.Hex() + "00",
		strings.Repeat("g", 64), " " + seed.Hex(), "[secret]"} {
		if got, err := rain.ParseSeed(text); !errors.Is(err, rain.ErrBadSeed) || got != (rain.Seed{}) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
