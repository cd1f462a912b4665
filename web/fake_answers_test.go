package web_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
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
