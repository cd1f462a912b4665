package web

import (
	"encoding/json"
	"strings"
)

// appManifest is where a browser reads what to put on a home screen.
const appManifest = "/app.webmanifest"

// The page's languages.
const (
	chinese = "zh-CN"
	english = "en"
)

// night is the colour of the player's page around everything, as its style sheet has it.
const night = "#3a0a1c"

// appManifests are the manifests of the player's page, by language.
func appManifests(m manifest) map[string]*file {
	var icons []map[string]string
	// The drawing has nothing that matters outside the circle that a phone may cut out of it.
	for _, purpose := range []string{"any", "maskable"} {
		for _, size := range []string{"192", "512"} {
			icons = append(icons, map[string]string{"src": m["icon-"+size+".png"], "sizes": size + "x" + size,
				"type": contentTypes[".png"], "purpose": purpose})
		}
	}
	files := map[string]*file{}
	for language, words := range map[string][3]string{
		chinese: {"红包雨", "红包雨", "红包从天而降，手快有手慢无"},
		english: {"Red packet rain", "Packets", "Red packets fall from the sky. Be quick and they’re yours"},
	} {
		text, err := json.Marshal(map[string]any{
			"id": "/", "name": words[0], "short_name": words[1], "description": words[2], "lang": language,
			"start_url": "/", "scope": "/", "display": "standalone", "background_color": night, "theme_color": night,
			"icons": icons,
		})
		must(err)
		files[language] = newFile(appManifest, text)
	}
	return files
}

// language is the one of the page's that an Accept-Language names first; English where it names neither, as the page
// itself decides.
func language(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		tag, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		switch primary, _, _ := strings.Cut(tag, "-"); primary {
		case "zh":
			return chinese
		case "en":
			return english
		}
	}
	return english
}
