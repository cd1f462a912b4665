package rain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

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
