package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"redrain/internal/wire"
)

// face is a picture for guests: web/sdk/faces/ID.svg. A guest without a name is called by its words.
type face struct{ id, zh, en string }

var faces = []face{
	{"koi", "锦鲤", "Koi"}, {"lantern", "灯笼", "Lantern"}, {"blossom", "梅花", "Blossom"},
	{"tangerine", "金桔", "Tangerine"}, {"ingot", "元宝", "Gold Ingot"}, {"lion", "醒狮", "Lion"},
	{"cat", "招财猫", "Lucky Cat"}, {"rabbit", "玉兔", "Jade Rabbit"},
}

// IsFace reports whether an id is that of a picture for guests.
func IsFace(id string) bool {
	return slices.ContainsFunc(faces, func(f face) bool { return f.id == id })
}

// Faces returns the ids of the pictures for guests.
func Faces() []string {
	ids := make([]string, len(faces))
	for i, f := range faces {
		ids[i] = f.id
	}
	return ids
}

// Accept returns a chosen name without white space around it. It returns false if [Clean] would change the name, or
// leave nothing of it.
func Accept(name string) (string, bool) {
	name = strings.TrimSpace(name)
	return name, name != "" && Clean(name) == name
}

// languages are those of drawn names.
var languages = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// mostDrawn is the highest number in a drawn name. With the words it makes two equal names in a room rare.
const mostDrawn = 999

// Draw returns a guest's profile. If the chosen one lacks a face or a name, it gets a random face or a festive name,
// such as "锦鲤 08". accept is the Accept-Language of the guest.
func Draw(chosen wire.Profile, accept string) wire.Profile {
	of := slices.IndexFunc(faces, func(f face) bool { return f.id == chosen.Face })
	if of < 0 {
		of = rand.IntN(len(faces)) //nolint:gosec // any will do
		chosen.Face = faces[of].id
	}
	if chosen.Name == "" {
		word := faces[of].en
		if _, at := language.MatchStrings(languages, accept); at == 1 {
			word = faces[of].zh
		}
		chosen.Name = fmt.Sprintf("%s %02d", word, 1+rand.IntN(mostDrawn)) //nolint:gosec // any will do
	}
	return chosen
}
