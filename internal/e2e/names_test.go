package e2e

import (
	"strings"
	"testing"
	"time"

	"redrain/internal/auth"
	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// TestNamesOverTwoNodes: who wins on one node is shown on the other by the name of their token, cleaned, and with a
// picture where it is from a host that is allowed; under a masked id still, and in the board too.
func TestNamesOverTwoNodes(t *testing.T) {
	testenv.Parallel(t, testenv.Medium)
	cfg := realSetting(t).config()
	yes := true
	cfg.ShowNames, cfg.AvatarHosts = &yes, []string{"*.img.example"}
	a, b := startNode(t, cfg), startNode(t, cfg)
	c := createCampaign(t, a.client, fund(t, a, "named", 10, 10))
	players, err := auth.NewPlayers(auth.PlayersOptions{Secret: jwtSecret})
	must(t, err)
	come := func(n *node, who auth.Persona) *player {
		t.Helper()
		signed, _, err := players.MintFor(who, time.Hour)
		must(t, err)
		p := dial(t, n)
		p.user = who.User
		p.say(t, map[string]any{"type": "hello", "id": 1, "token": signed, "campaign": c.ID})
		p.await(t, 20*time.Second, "a welcome", func() bool { return p.welcome.User != "" || p.closed != nil })
		return p
	}
	const hostile = `"><script>alert(1)</script>`
	crowd := map[string]*player{
		hostile: come(a, auth.Persona{User: "anna", Name: hostile + "\u202e", Picture: "https://evil.example/x"}),
		"小雨":    come(b, auth.Persona{User: "bo", Name: "小\u200b雨", Picture: "https://1.img.example/b"}),
		"":      come(a, auth.Persona{User: "carl"}),
	}
	watcher := come(b, auth.Persona{User: "watcher", Name: "not to be shown"})
	startRain(t, a.client, c.ID, longRain(4))
	for _, p := range crowd {
		p.winOne(t)
	}
	all := map[string]wire.Face{
		"a*": {Name: hostile}, "b*": {Name: "小雨", Avatar: "https://1.img.example/b"}, "c*": {},
	}
	same := func(list []wire.Winner) bool {
		seen := 0
		for _, w := range list {
			if want, known := all[w.User]; known && w.Face == want {
				seen++
			}
		}
		return seen == len(all) && len(list) == len(all)
	}
	for _, p := range []*player{watcher, crowd[""]} {
		p.await(t, time.Minute, "names in both lists", func() bool {
			last := p.rooms[max(0, len(p.rooms)-1):]
			return len(last) == 1 && same(last[0].Winners) && same(last[0].Top)
		})
	}
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	for _, is := range watcher.rooms {
		for _, w := range append(is.Winners, is.Top...) {
			if strings.Contains(w.Name, "shown") || strings.ContainsRune(w.Name, '\u202e') {
				t.Errorf("shown: %+v", w)
			}
		}
	}
}
