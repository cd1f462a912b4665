package names

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// A name is accepted if it is shown as it was given, but for white space around it.
func TestAccept(t *testing.T) {
	for name, want := range map[string]string{
		"小雨": "小雨", " 小雨\t": "小雨", "José 🎉": "José 🎉", "مرحبا": "مرحبا", "官方": "官方",
		strings.Repeat("字", MaxName): strings.Repeat("字", MaxName), strings.Repeat("字", MaxName+1): "",
		"": "", " \u3000": "", "a\nb": "", "a  b": "", "a\u202eb": "", "a\u200bb": "", "\x00": "", "\u3164": "",
		"a\ufeff": "", "e\u0301\u0302\u0303": "", "\xff": "",
	} {
		got, ok := Accept(name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%.60q: %q, %v; want %q", name, got, ok, want)
		}
	}
}

// A guest is called by the words of the face, in the language that the browser asks for.
func TestDraw(t *testing.T) {
	for accept, want := range map[string]string{
		"zh-CN,zh;q=0.9,en;q=0.8": `^锦鲤 \d{2,3}$`, "zh-TW": `^锦鲤 `, "en-GB,zh;q=0.5": `^Koi \d{2,3}$`,
		"de": `^Koi `, "": `^Koi `, "de, zh;q=0.3": `^锦鲤 `, ";;": `^Koi `,
	} {
		got := Draw(wire.Profile{Face: "koi"}, accept)
		if !regexp.MustCompile(want).MatchString(got.Name) || got.Face != "koi" {
			t.Errorf("%q: %+v", accept, got)
		}
	}
	testenv.Equal(t, Draw(wire.Profile{Name: "小雨", Face: "cat"}, ""), wire.Profile{Name: "小雨", Face: "cat"}, "chosen")
	drawn := map[string]bool{}
	for range 1_000 {
		p := Draw(wire.Profile{Name: "小雨"}, "")
		testenv.Equal(t, p.Name, "小雨", "the chosen name")
		drawn[p.Face] = true
		if q := Draw(wire.Profile{}, "zh"); !IsFace(q.Face) || Clean(q.Name) != q.Name || q.Name == "" {
			t.Fatalf("%+v", q)
		}
	}
	testenv.Equal(t, slices.DeleteFunc(Faces(), func(id string) bool { return drawn[id] }), nil,
		"faces that were not drawn")
}
