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

type appIcon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

type app struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	ShortName   string    `json:"short_name"`
	Description string    `json:"description"`
	Lang        string    `json:"lang"`
	StartURL    string    `json:"start_url"`
	Scope       string    `json:"scope"`
	Display     string    `json:"display"`
	Background  string    `json:"background_color"`
	Theme       string    `json:"theme_color"`
	Icons       []appIcon `json:"icons"`
}

// appManifests are the manifests of the player's page, by language.
func appManifests(m manifest) map[string]*file {
	common := app{
		ID: "/", StartURL: "/", Scope: "/", Display: "standalone", Background: night, Theme: night,
	}
	// The drawing has nothing that matters outside the circle that a phone may cut out of it.
	for _, purpose := range []string{"any", "maskable"} {
		for _, size := range []string{"192", "512"} {
			common.Icons = append(common.Icons, appIcon{Src: m["icon-"+size+".png"], Sizes: size + "x" + size,
				Type: contentTypes[".png"], Purpose: purpose})
		}
	}
	zh, en := common, common
	zh.Lang, zh.Name, zh.ShortName, zh.Description = chinese, "红包雨", "红包雨", "红包从天而降，手快有手慢无"
	en.Lang, en.Name, en.ShortName = english, "Red packet rain", "Packets"
	en.Description = "Red packets fall from the sky. Be quick and they’re yours"
	files := map[string]*file{}
	for _, a := range []app{zh, en} {
		text, err := json.Marshal(a)
		must(err)
		files[a.Lang] = newFile(appManifest, text)
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
