package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

// code makes a code that can be exchanged for a player's token, which is the name with "token-" before it.
func (f *fakeServer) code(code, user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.codes[code] = object{"user": user, "token": "token-" + user, "expires_at": f.now() + 3_600_000}
}

// login exchanges a code, once.
func (f *fakeServer) login(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Code string `json:"code"`
	}
	_ = json.NewDecoder(r.Body).Decode(&said) // none is wrong as well
	f.mu.Lock()
	pass, known := f.codes[said.Code]
	delete(f.codes, said.Code)
	f.mu.Unlock()
	if !known {
		reply(http.StatusGone, object{"status": 410, "code": "code_used_or_expired", "title": "Gone"})(w, r)
		return
	}
	reply(http.StatusOK, pass)(w, r)
}

// userOf is whose token a hello has. All others are one guest's.
func (*fakeServer) userOf(token any) string {
	text, _ := token.(string)
	if user, ok := strings.CutPrefix(text, "token-"); ok {
		return user
	}
	return "guest-7f3a"
}
