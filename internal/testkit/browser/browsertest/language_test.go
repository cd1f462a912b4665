package browsertest

import "testing"

func TestForeign(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ zh, en bool }{
		"Start now":     {zh: true},
		"立即开始":          {en: true},
		"¥0.88":         {},
		"p99 · ms":      {},
		"与 redrain 一起":  {en: true},
		"Close":         {zh: true},
		"c4f2-17 /docs": {},
		"OK":            {},
	} {
		if got := foreign("zh", text); got != want.zh {
			t.Errorf("%q in zh is foreign: %t", text, got)
		}
		if got := foreign("en", text); got != want.en {
			t.Errorf("%q in en is foreign: %t", text, got)
		}
	}
}
