package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"redrain/internal/seal"
	"redrain/internal/testenv"
)

func TestASealIsOfOneTapOnly(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(seal.Secret{1})
	mark := string(ring.AppendTap(nil, "c1", "u1", []byte("7.3"), 1_763_712_000_000))
	if len(mark) != seal.Size || !ring.CheckTap(mark, "c1", "u1", "7.3", 1_763_712_000_000) {
		t.Fatalf("%q is refused", mark)
	}
	for name, good := range map[string]bool{
		"another campaign": ring.CheckTap(mark, "c2", "u1", "7.3", 1_763_712_000_000),
		"another player":   ring.CheckTap(mark, "c1", "u2", "7.3", 1_763_712_000_000),
		"another ticket":   ring.CheckTap(mark, "c1", "u1", "7.4", 1_763_712_000_000),
		"another time":     ring.CheckTap(mark, "c1", "u1", "7.3", 1_763_712_000_001),
		"parts elsewhere":  ring.CheckTap(mark, "c1u", "1", "7.3", 1_763_712_000_000),
		"cut off":          ring.CheckTap(mark[1:], "c1", "u1", "7.3", 1_763_712_000_000),
		"none":             ring.CheckTap("", "c1", "u1", "7.3", 1_763_712_000_000),
		"another secret":   seal.NewRing(seal.Secret{2}).CheckTap(mark, "c1", "u1", "7.3", 1_763_712_000_000),
		"a closing":        ring.CheckClosing(mark, "c1", 0, 1_763_712_000_000),
	} {
		if good {
			t.Errorf("%s: the seal is taken", name)
		}
	}
}

func TestClosingsAndMessages(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(seal.Secret{1})
	closing := ring.Closing("c1", 3, 5)
	if !ring.CheckClosing(closing, "c1", 3, 5) || ring.CheckClosing(closing, "c1", 4, 5) ||
		ring.CheckClosing(closing, "c1", 3, 6) || ring.CheckClosing(closing, "c2", 3, 5) {
		t.Error("a closing's seal is not of that closing alone")
	}
	mark := ring.AppendMessage(nil, []byte("wins"))
	if len(mark) != seal.MessageSize || !ring.CheckMessage(mark, []byte("wins")) {
		t.Errorf("%q is refused", mark)
	}
	if ring.CheckMessage(mark, []byte("win")) || ring.CheckMessage(mark[1:], []byte("wins")) ||
		seal.NewRing(seal.Secret{2}).CheckMessage(mark, []byte("wins")) {
		t.Error("a message's seal is not of that message alone")
	}
}

// A notice between nodes is sealed with a key of its own. A message to the settlement is no valid notice.
func TestNotices(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(seal.Secret{1})
	mark := ring.AppendNotice(nil, []byte("sold out"))
	ring.Replace(seal.Secret{2}, seal.Secret{1})
	if len(mark) != seal.MessageSize || !ring.CheckNotice(mark, []byte("sold out")) {
		t.Errorf("%q is refused", mark)
	}
	if ring.CheckNotice(mark, []byte("sold")) || ring.CheckNotice(mark[1:], []byte("sold out")) ||
		ring.CheckMessage(mark, []byte("sold out")) ||
		ring.CheckNotice(ring.AppendMessage(nil, []byte("sold out")), []byte("sold out")) ||
		seal.NewRing(seal.Secret{3}).CheckNotice(mark, []byte("sold out")) {
		t.Error("a notice's seal is not of that notice alone")
	}
}

func TestTheKeyBeforeIsStillGood(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing(seal.Secret{1})
	old := string(ring.AppendTap(nil, "c1", "u1", []byte("7.3"), 5))
	ring.Replace(seal.Secret{2}, seal.Secret{1})
	fresh := string(ring.AppendTap(nil, "c1", "u1", []byte("7.3"), 5))
	if old == fresh || !ring.CheckTap(old, "c1", "u1", "7.3", 5) || !ring.CheckTap(fresh, "c1", "u1", "7.3", 5) {
		t.Error("after one rotation both keys have to be good")
	}
	ring.Replace(seal.Secret{3}, seal.Secret{2})
	if ring.CheckTap(old, "c1", "u1", "7.3", 5) || !ring.CheckTap(fresh, "c1", "u1", "7.3", 5) {
		t.Error("after two rotations only the newer is good")
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	secret := seal.Secret(bytes.Repeat([]byte("x"), seal.SecretBytes))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "secret", secret)
	text, err := json.Marshal(map[string]any{"secret": secret})
	testenv.Must(t, err)
	for _, shown := range []string{log.String(), string(text), fmt.Sprintf("%v %d %x %#v %s", secret, secret, secret,
		secret, secret)} {
		if !strings.Contains(shown, "[secret]") || strings.Contains(shown, "xx") ||
			strings.Contains(shown, "120 120") || strings.Contains(shown, "7878") {
			t.Errorf("the secret is in %s", shown)
		}
	}
}

func BenchmarkTap(b *testing.B) {
	b.ReportAllocs()
	ring := seal.NewRing(seal.Secret{1})
	var room [seal.Size]byte
	for b.Loop() {
		if len(ring.AppendTap(room[:0], "c6nunedrss7iyyv72", "guest-7f3a90b1c2d47f3a90b1", []byte("123.17"),
			1_763_712_000_000)) == 0 {
			b.Fatal("no seal")
		}
	}
}
