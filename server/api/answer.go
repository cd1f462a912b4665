package api

import (
	"encoding/json"
	"net/http"
)

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	writeRaw(w, status, encode(v))
}

// answer answers with a value, or returns the error that there is instead of one.
func answer[T any](w http.ResponseWriter, v T, err error) error {
	return answerAs(w, v, err, func(v T) T { return v })
}

// answerAs answers with the view of a value, or returns the error that there is instead of one.
func answerAs[T, V any](w http.ResponseWriter, v T, err error, view func(T) V) error {
	if err == nil {
		WriteJSON(w, http.StatusOK, view(v))
	}
	return err
}

// encode writes a value as JSON. The answers of this package cannot fail to encode.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("server: an answer that cannot be encoded: " + err.Error())
	}
	return data
}

// writeRaw answers with a value that is JSON already.
func writeRaw(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client has gone, if this fails
}
