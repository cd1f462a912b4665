package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// serveScript answers with a script that is bundled when it is first asked for.
func serveScript(bundled func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		script, err := bundled()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	}
}

func reply(status int, body object) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

// cutOff is an answer of which the line breaks in the middle of the body.
func cutOff(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		answer(whole, r)
		maps.Copy(w.Header(), whole.Header())
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush() // or the browser would see no answer at all
		panic(http.ErrAbortHandler)
	}
}

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
	pass := read(f, func() object {
		defer delete(f.codes, said.Code)
		return f.codes[said.Code]
	})
	if pass == nil {
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

// setRain announces a rain that starts after a time, and returns its start. If the time is negative, the rain has
// started already.
func (f *fakeServer) setRain(in, duration time.Duration) int64 {
	start := f.now() + in.Milliseconds()
	const fall = 4000
	rain := object{
		"id": f.rainID, "campaign": "c1", "phase": "countdown", "starts_at": start,
		"ends_at":     start + duration.Milliseconds() + fall,
		"duration_ms": duration.Milliseconds(), "fall_ms": fall, "first_wave": 0,
	}
	f.mu.Lock()
	maps.Copy(rain, f.draws)
	f.rain = rain
	f.mu.Unlock()
	f.push(object{"type": "rain", "rain": rain})
	return start
}

// phase announces a new phase of the rain. If it is the end, the rain ends now.
func (f *fakeServer) phase(phase string) {
	f.mu.Lock()
	rain := object{}
	maps.Copy(rain, f.rain)
	rain["phase"] = phase
	if phase == "ended" {
		rain["ends_at"] = f.now()
	}
	f.rain = rain
	f.mu.Unlock()
	f.push(object{"type": "rain", "rain": rain})
}

// wave sends one wave; each drop is x, kind, fall_ms.
func (f *fakeServer) wave(n int, at int64, drops ...[3]int) {
	var list [][4]int
	for k, d := range drops {
		list = append(list, [4]int{k, d[0], d[1], d[2]})
	}
	f.push(object{"type": "wave", "rain": f.rainID, "n": n, "at": at, "drops": list})
}

// won is the result of a win, remembered for the welcome.
func (f *fakeServer) won(packet, amount int) object {
	claim := object{"claim": "c1-" + strconv.Itoa(packet), "packet": strconv.Itoa(packet), "amount": amount,
		"state": "granted", "at": f.now()}
	locked(&f.mu, func() { f.claims = append([]object{claim}, f.claims...) })
	won := object{"outcome": "won", "packet": claim["packet"], "claim": claim["claim"], "amount": amount}
	if amount > 200 { // more than the average, and so than most
		won["luck"] = 93
	}
	return won
}

// settle pays everything that was won.
func (f *fakeServer) settle() {
	f.mu.Lock()
	paid := []object{}
	for i, c := range f.claims {
		if c["state"] == "granted" {
			f.balance += c["amount"].(int)
			f.claims[i] = object{"claim": c["claim"], "packet": c["packet"], "amount": c["amount"], "state": "settled",
				"at": c["at"]}
			paid = append(paid, object{"claim": c["claim"], "amount": c["amount"]})
		}
	}
	message := object{"type": "settled", "claims": paid, "balance": f.balance}
	f.mu.Unlock()
	f.push(message)
}

// withdraw takes money out, once for each Idempotency-Key.
func (f *fakeServer) withdraw(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Amount int `json:"amount"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		reply(http.StatusBadRequest, object{"code": "malformed"})(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	for _, made := range f.out {
		if made["withdrawal"] == "w-"+key {
			reply(http.StatusCreated, made)(w, r)
			return
		}
	}
	if body.Amount > f.balance {
		reply(http.StatusConflict, object{"code": "insufficient_funds", "title": "too little", "status": 409})(w, r)
		return
	}
	if f.refusal != "" {
		reply(http.StatusForbidden, object{"code": f.refusal, "title": "refused", "status": 403})(w, r)
		return
	}
	f.balance -= body.Amount
	made := object{
		"withdrawal": "w-" + key, "user": "guest-7f3a", "amount": body.Amount, "state": "pending", "stage": "requested",
		"created_at": f.now(), "balance": f.balance,
	}
	f.out = append([]object{made}, f.out...)
	reply(http.StatusCreated, made)(w, r)
}

// withdrawn is all withdrawals, the newest first.
func (f *fakeServer) withdrawn() []object {
	return read(f, func() []object { return append([]object{}, f.out...) })
}

// refuse makes the following requests for a withdrawal end with a code; none undoes it.
func (f *fakeServer) refuse(code string) {
	locked(&f.mu, func() { f.refusal = code })
}

// needs pushes that the newest withdrawal waits for its player.
func (f *fakeServer) needs(action object) {
	f.push(f.needsSilently(action))
}

// needsSilently is needs whose message is lost; it returns the message.
func (f *fakeServer) needsSilently(action object) object {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := maps.Clone(f.out[0])
	delete(w, "balance")
	w["stage"], w["action"] = "action_required", action
	f.out[0] = w
	return object{"type": "withdrawal", "withdrawal": w, "balance": f.balance}
}

// decide ends the newest withdrawal as paid, or as failed for a reason, and sends it to the player.
func (f *fakeServer) decide(reason string) {
	f.mu.Lock()
	w := maps.Clone(f.out[0])
	delete(w, "balance")
	delete(w, "action")
	w["finished_at"] = f.now()
	w["state"], w["stage"] = "paid", "paid"
	if reason != "" {
		w["state"], w["stage"], w["reason"] = "failed", "refused", reason
		f.balance += w["amount"].(int)
	}
	f.out[0] = w
	message := object{"type": "withdrawal", "withdrawal": w, "balance": f.balance}
	f.mu.Unlock()
	f.push(message)
}
