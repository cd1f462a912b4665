package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
)

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
	if f.lose > 0 {
		f.lose--
		panic(http.ErrAbortHandler)
	}
	reply(http.StatusCreated, made)(w, r)
}

// withdrawn is all withdrawals, the newest first.
func (f *fakeServer) withdrawn() []object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]object{}, f.out...)
}

// refuse makes the following requests for a withdrawal end with a code; none undoes it.
func (f *fakeServer) refuse(code string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusal = code
}

// loseAnswers makes the next n requests for a withdrawal end without an answer, after they have taken effect.
func (f *fakeServer) loseAnswers(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = n
}

// needs pushes that the newest withdrawal waits for its player.
func (f *fakeServer) needs(action object) {
	f.push(f.needsSilently(action))
}

// needsSilently is needs whose message is lost; it returns the message.
func (f *fakeServer) needsSilently(action object) object {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := object{}
	maps.Copy(w, f.out[0])
	delete(w, "balance")
	w["stage"], w["action"] = "action_required", action
	f.out[0] = w
	return object{"type": "withdrawal", "withdrawal": w, "balance": f.balance}
}

// decide ends the newest withdrawal as paid, or as failed for a reason, and tells of it.
func (f *fakeServer) decide(reason string) {
	f.mu.Lock()
	w := object{}
	maps.Copy(w, f.out[0])
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
