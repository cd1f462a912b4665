package names

import (
	"strings"
	"testing"
	"unicode/utf8"

	"redrain/internal/testenv"
)

func TestClean(t *testing.T) {
	for name, want := range map[string]string{
		"小雨": "小雨", "José 🎉": "José 🎉", "<img src=x onerror=alert(1)>": "<img src=x onerror=alert(1)>",
		"": "", " \t\n ": "", "  a \u3000\u00a0 b  ": "a b", "a\nb": "a b", "a\u2028b": "a b",
		"a\u202eb\u2066c\u2069": "abc", "a\u200bb\u200d\ufeffc": "abc", "\u0000a\u001b[31m\u007f": "a[31m",
		"\u3164\uffa0\u2800\u115f": "", "\ue000\U000f0000x": "x", "x\U000e0041": "x", "\ufffd\xff": "",
		"\u0301a": "a", "e\u0301\u0302\u0303\u0304": "e\u0301\u0302", "👍🏽❤️": "👍🏽❤️", "مرحبا": "مرحبا",
		strings.Repeat("字", 33):                  strings.Repeat("字", 32),
		strings.Repeat("字", 31) + " 尾":           strings.Repeat("字", 31),
		strings.Repeat("a", 32) + " ":            strings.Repeat("a", 32),
		strings.Repeat("\u200b", 100_000) + "ok": "ok",
	} {
		testenv.Equal(t, Clean(name), want, "%.60q", name)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202e b")
	f.Fuzz(func(t *testing.T, name string) {
		is := Clean(name)
		if !utf8.ValidString(is) || utf8.RuneCountInString(is) > MaxName || Clean(is) != is ||
			strings.ContainsFunc(is, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q is %q", name, is)
		}
	})
}

func TestAvatars(t *testing.T) {
	hosts := Hosts{"img.example", "*.qlogo.cn"}
	for address, want := range map[string]string{
		"https://img.example/a.png?s=1": "https://img.example/a.png?s=1", "https://wx.qlogo.cn/mmopen/x/132": "same",
		"https://IMG.example/a#f": "https://IMG.example/a", "https://a.b.qlogo.cn": "same",
		"http://img.example/a": "", "https://qlogo.cn/a": "", "https://evilqlogo.cn/a": "", "https://.qlogo.cn/a": "",
		"https://img.example.evil.example/a": "", "https://u:p@img.example/a": "", "https://img.example:8443/a": "",
		"https://evil.example\\@img.example/": "", "//img.example/a": "", "javascript:alert(1)": "",
		"data:image/png;base64,AA": "", "https:img.example/a": "", "": "", "https://img.example/\n": "",
		"https://img.example/" + strings.Repeat("x", maxAvatar): "",
		"https://img.example/" + strings.Repeat("字", 40):        "",
		`https://img.example/"><script>`:                        "https://img.example/%22%3E%3Cscript%3E",
	} {
		if want == "same" {
			want = address
		}
		testenv.Equal(t, hosts.Avatar(address), want, "%q", address)
	}
	testenv.Equal(t, (Hosts)(nil).Avatar("https://img.example/a"), "", "a picture from nowhere")
	for _, bad := range []string{"*", "https://a.example", "a.example/x", "a.example:443", "A.example", "a b.example",
		"*.*.example", "localhost", "", "10.0.0.1", "a.example; script-src *"} {
		if (Hosts{bad}).Check() == nil {
			t.Errorf("%q is a host", bad)
		}
	}
	testenv.Must(t, hosts.Check())
}
