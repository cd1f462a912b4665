package confirm_test

import (
	"testing"

	"redrain/grab/confirm"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestConfirmIsParsed(t *testing.T) {
	for c, name := range map[confirm.Mode]string{confirm.Redis: "redis", confirm.Replica: "replica",
		confirm.Stream: "stream"} {
		if got, err := confirm.Parse(name); err != nil || got != c || got.String() != name {
			t.Errorf("%q was read as %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "Redis", "both"} {
		testenv.WantFail(t, testenv.Err(confirm.Parse(bad)), bad)
	}
	defer func() {
		if recover() == nil {
			t.Error("a stream to which nothing can be published was taken")
		}
	}()
	confirm.New(store.New(nil, store.Options{}), confirm.Stream, nil, nil)
}
