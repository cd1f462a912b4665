// Package wechatlogin is a sandbox of WeChat's login interface: it answers as the documents say, for one app.
//
//	w := wechatlogin.New("wx1", "secret")
//	defer w.Close()
//	code := w.Code(wechatlogin.User{OpenID: "oA1", Nickname: "小雨"}) // as if the player had come back from WeChat
//
// The documents are listed in package server/login.
package wechatlogin

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

// User is a person with an account at WeChat.
type User struct {
	OpenID, Nickname, Picture string
	HasAllowed                bool // the person has allowed snsapi_userinfo
	IsSnapshot                bool // the person sees a snapshot of the page
}

// Server is the sandbox.
type Server struct {
	*httptest.Server

	app, secret string

	mu      sync.Mutex
	codes   map[string]User // codes that were not used
	used    map[string]bool
	tokens  map[string]User // access tokens of persons
	fault   object          // the answer to all requests; nil: none
	tickets int
}

type object = map[string]any

// New starts a sandbox for an app.
func New(app, secret string) *Server {
	s := &Server{app: app, secret: secret, codes: map[string]User{}, used: map[string]bool{}, tokens: map[string]User{}}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) object{
		"GET /sns/oauth2/access_token":  s.accessToken,
		"GET /sns/userinfo":             s.userInfo,
		"GET /sns/jscode2session":       s.session,
		"POST /cgi-bin/stable_token":    s.stableToken,
		"GET /cgi-bin/ticket/getticket": s.ticket,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			said := s.fault
			if said == nil {
				said = answer(r)
			}
			w.Header().Set("Content-Type", "text/plain") // as WeChat does
			_ = json.NewEncoder(w).Encode(said)
		})
	}
	s.Server = httptest.NewServer(mux)
	return s
}

// Code issues a code for a person.
func (s *Server) Code(u User) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := rand.Text()
	s.codes[code] = u
	return code
}

// Fail makes all requests end with an error; 0 ends that.
func (s *Server) Fail(errcode int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
	if errcode != 0 {
		s.fault = failure(errcode)
	}
}

// Tickets returns the number of tickets that were fetched.
func (s *Server) Tickets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickets
}

func failure(errcode int) object {
	return object{"errcode": errcode, "errmsg": "error " + strconv.Itoa(errcode) + ", rid: 65a0c7b1-1f2e3d4c"}
}

// check returns the fault of a request's app and code; nil if it has none.
func (s *Server) check(app, secret, code string) object {
	_, known := s.codes[code]
	switch {
	case app != s.app:
		return failure(40013)
	case secret != s.secret:
		return failure(40125)
	case s.used[code]:
		return failure(40163)
	case !known:
		return failure(40029)
	}
	return nil
}

// take uses a code up.
func (s *Server) take(code string) User {
	u := s.codes[code]
	delete(s.codes, code)
	s.used[code] = true
	return u
}

func (s *Server) accessToken(r *http.Request) object {
	q := r.URL.Query()
	if wrong := s.check(q.Get("appid"), q.Get("secret"), q.Get("code")); wrong != nil {
		return wrong
	}
	u := s.take(q.Get("code"))
	token := rand.Text()
	s.tokens[token] = u
	answer := object{"access_token": token, "expires_in": 7200, "refresh_token": rand.Text(), "openid": u.OpenID,
		"scope": "snsapi_base"}
	if u.HasAllowed {
		answer["scope"] = "snsapi_userinfo"
	}
	if u.IsSnapshot {
		answer["is_snapshotuser"] = 1
	}
	return answer
}

func (s *Server) userInfo(r *http.Request) object {
	u, known := s.tokens[r.URL.Query().Get("access_token")]
	switch {
	case !known:
		return failure(40001)
	case u.OpenID != r.URL.Query().Get("openid"):
		return failure(40003)
	case !u.HasAllowed:
		return failure(48001)
	}
	return object{"openid": u.OpenID, "nickname": u.Nickname, "sex": 0, "headimgurl": u.Picture,
		"privilege": []string{}}
}

func (s *Server) session(r *http.Request) object {
	q := r.URL.Query()
	if wrong := s.check(q.Get("appid"), q.Get("secret"), q.Get("js_code")); wrong != nil {
		return wrong
	}
	return object{"openid": s.take(q.Get("js_code")).OpenID, "session_key": "aGVsbG8=", "errcode": 0, "errmsg": "ok"}
}

// stableToken answers with the same token while it is valid.
func (s *Server) stableToken(r *http.Request) object {
	var asked struct {
		Grant  string `json:"grant_type"`
		App    string `json:"appid"`
		Secret string `json:"secret"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Grant != "client_credential" {
		return failure(40002)
	}
	if asked.App != s.app || asked.Secret != s.secret {
		return failure(40125)
	}
	return object{"access_token": "stable-" + s.app, "expires_in": 7200}
}

func (s *Server) ticket(r *http.Request) object {
	if r.URL.Query().Get("access_token") != "stable-"+s.app || r.URL.Query().Get("type") != "jsapi" {
		return failure(40001)
	}
	s.tickets++
	return object{"errcode": 0, "errmsg": "ok", "ticket": "ticket-" + strconv.Itoa(s.tickets), "expires_in": 7200}
}
