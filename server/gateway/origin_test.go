package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOriginAllowed(t *testing.T) {
	allowed := []string{"https://party.example"}
	for origin, want := range map[string]bool{
		"": true, "http://rain.example": true, "https://RAIN.example": true, "https://party.example": true,
		"https://evil.example": false, "null": false, "https://rain.example.evil.example": false,
		"http://party.example": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://rain.example/ws", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := originAllowed(r, allowed); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://rain.example/ws", nil)
	r.Header.Set("Origin", "https://anything.example")
	if !originAllowed(r, []string{"*"}) {
		t.Error("* does not allow everything")
	}
}
