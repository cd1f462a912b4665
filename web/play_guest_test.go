package web_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// profileOf is the name and the face of a guest's token; nil without them.
func profileOf(token any) (profile object) {
	text, _ := token.(string)
	if parts := strings.Split(text, "."); len(parts) == 3 {
		payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(payload, &profile)
		delete(profile, "sub")
	}
	return profile
}

// showNames makes the server show names. It gives guests tokens with theirs, except the name 官方.
func (f *fakeServer) showNames() {
	f.lobby(object{"names": true})
	name := func(w http.ResponseWriter, r *http.Request) {
		said := object{}
		_ = json.NewDecoder(r.Body).Decode(&said)
		if said["name"] == "官方" {
			reply(http.StatusUnprocessableEntity, object{"status": 422, "code": "invalid",
				"errors": []object{{"field": "name", "message": "no"}}})(w, r)
			return
		}
		said["sub"] = "guest-7f3a"
		payload, _ := json.Marshal(said)
		token := "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".sig"
		reply(http.StatusCreated, object{"user": "guest-7f3a", "token": token, "expires_at": f.now() + 3_600_000})(w, r)
	}
	f.setAnswer("POST /guests", name)
	f.setAnswer("POST /me/token", name)
}

// named is a profile of the last token that the server has seen.
func (f *fakeServer) named(field string) string {
	text, _ := profileOf(f.token())[field].(string)
	return text
}

// A visitor plays under the drawn name with one press, in the language of the page.
func TestAGuestKeepsTheDrawnName(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.showNames()
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.Until("a drawn name",
		`/^Play as \u2068.+ \d{2,3}\u2069$/.test(document.getElementById("me-open-name").textContent)`)
	p.Press("#language")
	p.Until("it in Chinese",
		`/^以「\u2068[^a-z]+ \d{2,3}\u2069」参加$/i.test(document.getElementById("me-open-name").textContent)`)
	shown := strings.TrimSuffix(strings.TrimPrefix(p.Text("#me-open-name"), "以「\u2068"), "\u2069」参加")
	p.Press("#play")
	p.shows("user", "您好，\u2068"+shown+"\u2069")
	testenv.Equal(t, f.named("name"), shown, "the token's name")
	p.Until("the face", `!document.getElementById("user-face").hidden`)
}

// A visitor chooses a name and a face, by keys alone, and changes them later. A refused name is explained.
func TestAGuestChoosesAName(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.showNames()
	p := openPage(t, f, "/?campaign=c1", 390, 844)
	p.Press("#me-open")
	p.opens("me")
	testenv.Equal(t, eval[string](p, `document.activeElement.id`), "me-ok", "the focus is on")
	before := eval[string](p, `document.getElementById("me-name").value`)
	p.Press("#me-draw")
	p.Until("another name", `document.getElementById("me-name").value !== %q`, before)
	p.Press("#me-faces label:nth-child(3)")
	p.Until("the name follows the face", `document.getElementById("me-name").value.startsWith("Blossom ")`)
	p.Fill("#me-name", "官方")
	p.Press("#me-ok")
	p.shows("me-message", "That name can’t be used. Try one with up to 32 ordinary characters")
	p.State("refused")
	p.Fill("#me-name", "  小  雨 ")
	p.Type("\r") // of the field: it sends the form
	p.mode("waiting")
	p.shows("user", "Playing as \u2068小 雨\u2069")
	testenv.Equal(t, f.named("face"), "blossom", "the token's face")

	p.Press("#me-edit")
	p.opens("me")
	testenv.Equal(t, eval[string](p, `document.getElementById("me-name").value`), "小 雨", "the name in the dialog")
	p.Press("#me-faces label:nth-child(7)")
	p.Fill("#me-name", "大雨")
	p.Press("#me-ok")
	p.shows("user", "Playing as \u2068大雨\u2069")
	testenv.Eventually(t, patience, "the new token on the socket",
		func() bool { return f.named("name") == "大雨" && f.named("face") == "cat" })
	testenv.Equal(t, f.greeted(), 1, "connections")

	// A rain closes the dialog, and others are shown with theirs.
	p.Press("#me-edit")
	p.opens("me")
	p.rains([3]int{500, 0, slowly})
	p.Until("no dialog", `!document.getElementById("me").open`)
	winner := object{"user": "g*1a2b", "name": "锦鲤 08", "face": "koi", "amount": 88}
	f.push(f.figures(5, 5, object{"winners": []object{winner}}))
	p.shows("ticker-text", "\u2068锦鲤 08\u2069 won ¥0.88")
	p.Until("the koi", `/faces\/koi/.test(document.querySelector("#ticker img").src)`)
}

// TestGuestLooks looks at the landing with a drawn name, at the dialog, and at the page with the guest's name.
func TestGuestLooks(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	for language, accept := range map[string]string{"en": "en-US,en", "zh": "zh-CN,zh"} {
		t.Run(language, func(t *testing.T) {
			testenv.ParallelBrowser(t, testenv.Heavy)
			v := &visit{language: language, accept: accept, devices: []chromium.Device{chromium.SmallPhone,
				chromium.Phone, chromium.Landscape, chromium.SmallLandscape, chromium.Desktop}}
			v.open(t, (*fakeServer).showNames)
			v.look("named", `document.getElementById("me-open").matches(".named:not([hidden])")`)
			v.Press("#me-open")
			v.look("name", `document.getElementById("me").open`)
			v.Fill("#me-name", "官方")
			v.Press("#me-ok")
			v.look("refused", `document.getElementById("me-message").textContent !== ""`)
			v.Press("#me-draw")
			v.Press("#me-ok")
			v.look("known", `!document.getElementById("me-edit").hidden`)
		})
	}
}
