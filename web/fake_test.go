package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/web/bundle"
)

// clockAhead is the lead of the fake server's clock over the browser's. A page that trusts its own clock would show
// every countdown and every packet at the wrong time.
const clockAhead = 90 * time.Second

const rainID = "r1"

type object = map[string]any

// modules is the tests of the pages' modules, with the modules in it: the pages themselves have no module left that
// a test could import.
var modules = sync.OnceValues(func() ([]byte, error) { return bundle.Script(".", "testdata/modules.ts") })

// fakeServer speaks just enough of the contract for the pages. The test decides the packets and the outcomes of taps.
type fakeServer struct {
	*httptest.Server
	judge func(drop string) object // the outcome of a tap, as fields of the result; nil: never answered

	mu      sync.Mutex
	full    object // the goodbye for who finds no seat; nil: there is one
	conns   map[*fakeConn]struct{}
	rainID  string // of the rain that setRain announces
	rain    object
	draws   object   // what setRain says of them
	taps    []string // drops, in the order of their taps
	posts   []post   // requests of the API that change something
	hellos  int
	hello   object // the newest
	balance int
	claims  []object
	out     []object                    // withdrawals, the newest first
	payout  object                      // where withdrawals go
	refusal string                      // the code with which withdrawals are refused; "": they are not
	codes   map[string]object           // the player of each login code, which works once
	answer  map[string]http.HandlerFunc // of /api/v1, "METHOD /path"
	about   object                      // of the campaign in a welcome, besides its id
	down    bool                        // the server does not answer
	pages   http.Handler

	stands atomic.Int64 // what its clock shows for good, Unix ms; 0: the clock goes
}

// post is a request that changes something.
type post struct {
	path, key, body string
}

// fields are those of the body.
func (p post) fields() (o object) {
	_ = json.Unmarshal([]byte(p.body), &o) // then there are none
	return o
}

// posted are the requests to a path that change something.
func (f *fakeServer) posted(path string) []post {
	posts := read(f, func() []post { return slices.Clone(f.posts) })
	return slices.DeleteFunc(posts, func(p post) bool { return p.path != path })
}

type fakeConn struct {
	ws *websocket.Conn
	mu sync.Mutex
}

func (c *fakeConn) send(messages ...object) {
	var lines []string
	for _, m := range messages {
		b, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(b))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.WriteMessage(websocket.TextMessage, []byte(strings.Join(lines, "\n")))
}

func newFake(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{
		rainID: rainID, pages: handler(), conns: map[*fakeConn]struct{}{}, payout: object{"provider": "wallet"},
		answer: map[string]http.HandlerFunc{}, codes: map[string]object{},
		about: object{
			"name": "年会红包雨", "state": "ready", "budget": 1000000, "packets": 5000, "wins_per_user": 3,
			"taps_per_user": 0,
			"expires_at":    0,
		},
	}
	f.answer["POST /guests"] = reply(http.StatusCreated,
		object{"user": "guest-7f3a", "token": "t1", "expires_at": f.now() + 3_600_000})
	for path, answer := range map[string]object{ // of the head of each page of the console
		"/alarms": {"items": []object{}}, "/risk": {"wins": 0, "amount": 0}, "/reconciliation/proved": nil,
	} {
		f.answer["GET "+path] = reply(http.StatusOK, answer)
	}
	f.answer["POST /login"] = f.login
	f.answer["GET /auth/config"] = reply(http.StatusOK, object{}) // operators have tokens only
	f.lobby(nil)
	for path, answer := range map[string]func() object{
		"":             func() object { return object{"user": "guest-7f3a", "balance": f.balance, "payout": f.payout} },
		"/claims":      func() object { return object{"items": append([]object{}, f.claims...)} },
		"/withdrawals": func() object { return object{"items": append([]object{}, f.out...)} },
	} {
		f.answer["GET /me"+path] = func(w http.ResponseWriter, r *http.Request) {
			reply(http.StatusOK, read(f, answer))(w, r)
		}
	}
	f.answer["POST /me/withdrawals"] = f.withdraw
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v1")
		key := r.Method + " " + path
		body, _ := io.ReadAll(r.Body) // a body that is cut off is refused by the answer
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.mu.Lock()
		if r.Method == http.MethodPost {
			f.posts = append(f.posts, post{path, r.Header.Get("Idempotency-Key"), string(body)})
		}
		h := f.answer[key]
		f.mu.Unlock()
		if h == nil {
			h = reply(http.StatusNotFound, object{"code": "not_found", "title": "no " + key, "status": 404})
		}
		h(w, r)
	})
	mux.HandleFunc("/ws", f.socket)
	mux.HandleFunc("/testdata/modules.js", serveScript(modules))
	mux.HandleFunc("/testdata/sdk.js", serveScript(sdkTests))
	mux.HandleFunc("/testdata/forms.js", serveScript(formTests))
	mux.HandleFunc("/testdata/console.js", serveScript(consoleTests))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		read(f, func() http.Handler { return f.pages }).ServeHTTP(w, r)
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if read(f, func() bool { return f.down }) {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	t.Cleanup(f.cut)
	return f
}

func (f *fakeServer) now() int64 {
	if at := f.stands.Load(); at > 0 {
		return at
	}
	return time.Now().Add(clockAhead).UnixMilli()
}

// stopClock stops the server's clock. It is called before a page opens whose own clock stands still. Then the page
// shows exact times, even on a busy machine.
func (f *fakeServer) stopClock() { f.stands.Store(f.now()) }

// stopped is a script that makes a page's clocks stand still: what goes by the page's own never comes to the server's.
const stopped = `{
	const at = Date.now();
	Date.now = () => at;
	performance.now = () => 1_000;
}`

func (f *fakeServer) socket(w http.ResponseWriter, r *http.Request) {
	anyOrigin := func(*http.Request) bool { return true } // which ones may is the real server's to say
	up := websocket.Upgrader{Subprotocols: []string{"redrain.v1"}, CheckOrigin: anyOrigin}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &fakeConn{ws: ws}
	defer func() {
		locked(&f.mu, func() { delete(f.conns, c) })
		_ = ws.Close()
	}()
	for {
		var m object
		if ws.ReadJSON(&m) != nil {
			return
		}
		f.handle(c, m)
	}
}

func (f *fakeServer) handle(c *fakeConn, m object) {
	switch m["type"] {
	case "hello", "join":
		f.mu.Lock()
		if f.full != nil {
			f.mu.Unlock()
			c.send(f.full)
			c.close(4003)
			return
		}
		f.hellos++
		f.hello = m
		f.conns[c] = struct{}{}
		welcome := object{
			"type": "welcome", "id": m["id"], "user": f.userOf(m["token"]), "server_time": f.now(), "rain": f.rain,
			"campaign": f.campaign(m["campaign"]),
			"claims":   append([]object{}, f.claims...), "claims_total": len(f.claims),
			"limits": object{"taps_per_second": 20},
		}
		maps.Copy(welcome, profileOf(m["token"]))
		f.mu.Unlock()
		c.send(welcome)
	case "token":
		locked(&f.mu, func() { f.hello["token"] = m["token"] })
		c.send(object{"type": "token_renewed", "id": m["id"], "token_expires_at": f.now() + 3_600_000})
	case "ping":
		c.send(object{"type": "pong", "id": m["id"], "t": m["t"], "server_time": f.now()})
	case "tap":
		drop, _ := m["drop"].(string)
		f.mu.Lock()
		f.taps = append(f.taps, drop)
		judge := f.judge
		f.mu.Unlock()
		if result := judge(drop); result != nil {
			result["type"], result["id"], result["drop"] = "result", m["id"], drop
			c.send(result)
		}
	}
}

// campaign is a campaign as a welcome has it. The caller holds mu.
func (f *fakeServer) campaign(id any) object {
	c := maps.Clone(f.about)
	c["id"] = id
	return c
}

// setCampaign changes the campaign and sends it to the players.
func (f *fakeServer) setCampaign(about object) {
	f.mu.Lock()
	maps.Copy(f.about, about)
	c := f.campaign(f.hello["campaign"])
	f.mu.Unlock()
	f.push(object{"type": "campaign", "campaign": c})
}

// locked changes or looks at something that others may change meanwhile.
func locked(mu *sync.Mutex, do func()) {
	mu.Lock()
	defer mu.Unlock()
	do()
}

// setAnswer changes an answer of the API.
func (f *fakeServer) setAnswer(call string, h http.HandlerFunc) {
	locked(&f.mu, func() { f.answer[call] = h })
}

// lobby changes the description of the current event.
func (f *fakeServer) lobby(with object) {
	about := object{"campaign": "c1", "name": "年会红包雨", "wins_per_user": 3, "guests": true}
	maps.Copy(about, with)
	f.setAnswer("GET /lobby", reply(http.StatusOK, about))
}

// setDown takes the server away, or brings it back.
func (f *fakeServer) setDown(down bool) {
	locked(&f.mu, func() { f.down = down })
	if down {
		f.cut()
	}
}

// each does something with every connection.
func (f *fakeServer) each(do func(*fakeConn)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		do(c)
	}
}

// push sends one frame to everybody.
func (f *fakeServer) push(messages ...object) { f.each(func(c *fakeConn) { c.send(messages...) }) }

// cut drops every connection without a word.
func (f *fakeServer) cut() { f.each(func(c *fakeConn) { _ = c.ws.NetConn().Close() }) }

// hangUp closes every connection with a code.
func (f *fakeServer) hangUp(code int) { f.each(func(c *fakeConn) { c.close(code) }) }

func (c *fakeConn) close(code int) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
}

// read looks at the fake's state.
func read[T any](f *fakeServer, get func() T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return get()
}

func (f *fakeServer) tapped() []string {
	return read(f, func() []string { return append([]string{}, f.taps...) })
}

// setJudge changes the outcome of taps.
func (f *fakeServer) setJudge(judge func(drop string) object) {
	locked(&f.mu, func() { f.judge = judge })
}

// token is the token of the newest hello.
func (f *fakeServer) token() string {
	token, _ := read(f, func() any { return f.hello["token"] }).(string)
	return token
}

// watches reports whether the newest hello was a spectator's.
func (f *fakeServer) watches() bool {
	return read(f, func() bool { watches, _ := f.hello["watch"].(bool); return watches })
}

func (f *fakeServer) greeted() int { return read(f, func() int { return f.hellos }) }
