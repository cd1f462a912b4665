package web_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/web/bundle"
)

// sdkTests is the tests of the client SDK, with its modules in them.
var sdkTests = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/sdk/main.ts") })

// TestSDKModules runs web/testdata/sdk: every rule of the client, in a world whose time passes at the test's word.
func TestSDKModules(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	p := openPage(t, newFake(t), "/docs", 390, 844)
	report := eval[struct {
		Ran    int      `json:"ran"`
		Faults []string `json:"faults"`
	}](p, `import("/testdata/sdk.js").then((m) => m.run())`)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	t.Logf("%d tests", report.Ran)
	if report.Ran == 0 {
		t.Error("nothing was tested")
	}
	checkGoldenMessages(t, p)
}

// checkGoldenMessages: the client understands every message that the server sends.
func checkGoldenMessages(t *testing.T, p *tab) {
	t.Helper()
	const golden = "../internal/wire/testdata/"
	files, err := filepath.Glob(golden + "*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d golden messages (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasPrefix(name, "client_") {
			continue
		}
		text := testenv.Got(os.ReadFile(file)).Must(t)
		want, _, _ := strings.Cut(name, "_")
		if name == "token_renewed" { // the one type whose name has two parts
			want = name
		}
		got := eval[[]string](p, fmt.Sprintf(`import("/testdata/sdk.js").then((m) => m.understood(%q))`, text))
		testenv.Equal(t, got, []string{want}, "%s is read as", name)
	}
}

var (
	interfacePattern = regexp.MustCompile(`(?s)export interface (\w+) \{(.*?)\n\}`)
	memberPattern    = regexp.MustCompile(`(?m)^  (\w+)\??:`)
)

// TestTypesHaveWhatTheDescriptionHas: redrain.d.ts names every field of the server's messages that
// docs/asyncapi.yaml describes.
func TestTypesHaveWhatTheDescriptionHas(t *testing.T) {
	types := testenv.Got(os.ReadFile("sdk/redrain.d.ts")).Must(t)
	members := map[string][]string{}
	for _, m := range interfacePattern.FindAllStringSubmatch(string(types), -1) {
		for _, f := range memberPattern.FindAllStringSubmatch(m[2], -1) {
			members[m[1]] = append(members[m[1]], f[1])
		}
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	testenv.Must(t, yaml.Unmarshal(docs.AsyncAPI, &doc))
	ours := []string{"Hello", "Join", "Tap", "Ping", "Pong", "Token", "Renewed"} // the client's business alone
	names := map[string]string{"CampaignChange": "CampaignMessage", "RainChange": "RainMessage",
		"WithdrawalChange": "WithdrawalMessage"}
	compared := 0
	for schema, s := range doc.Components.Schemas {
		if len(s.Properties) == 0 || slices.Contains(ours, schema) {
			continue
		}
		name := cmp.Or(names[schema], schema)
		if members[name] == nil {
			name += "Message"
		}
		if members[name] == nil {
			t.Errorf("there is no type for %s", schema)
		}
		for property := range s.Properties {
			compared++
			if !slices.Contains(members[name], property) && property != "id" {
				t.Errorf("%s has no %s, which %s has", name, property, schema)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d fields were compared", compared)
	}
}

// TestSDKExample plays on the example page, whose script runs though it is inline, and no other would.
func TestSDKExample(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.judge = func(string) object { return f.won(17, 88) }
	p := openPage(t, f, "/sdk/example", 390, 844)
	p.shows("news", "年会红包雨: no rain yet. You are guest-7f3a.")
	f.wave(0, f.now()-slowly/4, [3]int{300, 0, slowly}, [3]int{800, 1, slowly})
	p.Until("two drops fall", `document.querySelectorAll("button").length === 2`)
	p.Shoot("falling")
	if y := eval[float64](p, `document.querySelector("button").getBoundingClientRect().y`); y < 50 || y > 600 {
		t.Errorf("after a quarter of its fall the drop is at %v px of 844", y)
	}
	p.Axe("a drop falls")
	// A drop that falls is no button that stands still to be pressed: on a busy machine it never would.
	eval[bool](p, `document.getAnimations().every((a) => (a.pause(), true))`)
	p.Press("button")
	p.Until("the win is shown", `document.querySelector("button").textContent === "¥0.88"`)
	testenv.Equal(t, f.tapped(), []string{"0.0"}, "tapped")
	f.settle()
	p.shows("news", "You have ¥0.88.")
	p.Shoot("won")
}

// TestSDKOfAnotherOrigin: a page of another origin loads the library and plays here.
func TestSDKOfAnotherOrigin(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.judge = func(string) object { return f.won(17, 88) }
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>Somebody else's</title><link rel="icon" href="data:,">`))
	}))
	t.Cleanup(foreign.Close)
	p := openPage(t, f, "/docs", 390, 844)
	p.Go(foreign.URL)
	got := eval[object](p, `import("`+f.URL+`/sdk/redrain.js").then(async ({ RainClient }) => {
		const client = new RainClient({ url: "`+f.URL+`/ws", token: "t1", campaign: "c1" });
		client.connect();
		const result = await client.tap("7.0");
		client.close();
		return result;
	})`)
	if got["outcome"] != "won" || got["amount"] != 88.0 {
		t.Errorf("the tap is answered with %v", got)
	}
	p.Forgive() // this test makes requests to another host
}

// TestSDKOffline: the page knows at once that the device is offline, and a tap made meanwhile is answered later.
func TestSDKOffline(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 66) }
	p := openPage(t, f, "/docs", 390, 844)
	eval[bool](p, `import("/sdk/redrain.js").then(({ RainClient }) => {
		window.client = new RainClient({ token: "t1", campaign: "c1" });
		window.seen = [];
		client.on("state", ({ state }) => seen.push(state));
		client.connect();
		return true;
	})`)
	p.Until("it is open", `client.state === "open"`)
	p.Offline(true)
	p.Until("the page knows it", `seen.includes("waiting")`)
	eval[bool](p, `(window.answers = [], void client.tap("7.0").then((r) => answers.push(r.outcome)), true)`)
	p.Offline(false)
	p.Until("it is back", `client.state === "open"`)
	p.Until("the tap is answered", `answers.join() === "won"`)
	eval[bool](p, `(client.close(), true)`)
}

// TestSDKIsServed: the library and its types may be read by pages of any origin, and nothing else may.
func TestSDKIsServed(t *testing.T) {
	for path, contentType := range map[string]string{"/sdk/redrain.js": "text/javascript",
		"/sdk/redrain.d.ts": "application/typescript"} {
		r := get(t, path)
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), contentType) ||
			r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s %v", path, r.Status, r.Header)
		}
	}
	for _, path := range append([]string{"/sdk/example", "/licenses.txt", "/nothing"}, pages...) {
		testenv.Equal(t, get(t, path).Header.Get("Access-Control-Allow-Origin"), "", "%s may be read from", path)
	}
	types, err := os.ReadFile("sdk/redrain.d.ts")
	if err != nil || bodyOf(t, get(t, "/sdk/redrain.d.ts")) != string(types) {
		t.Errorf("other types are served (%v)", err)
	}
}

// TestTheExamplesInlineScript: its policy lets just that one run. For the other pages see TestPolicies.
func TestTheExamplesInlineScript(t *testing.T) {
	hash := regexp.MustCompile(`script-src 'self' 'sha256-[A-Za-z0-9+/]{43}=';`)
	if got := get(t, "/sdk/example").Header.Get("Content-Security-Policy"); !hash.MatchString(got) ||
		strings.Contains(got, "unsafe") {
		t.Errorf("the example's policy is %s", got)
	}
	if n := strings.Count(bodyOf(t, get(t, "/sdk/example")), "\n"); n > 30 {
		t.Errorf("the example has %d lines", n)
	}
}
