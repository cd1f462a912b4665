package login_test

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/server/login"
)

// TestReturns: an address counts as the browser reads it.
func TestReturns(t *testing.T) {
	r := testenv.Got(login.ParseReturns([]string{"https://rain.example", "https://shop.example/play/"})).Must(t)
	for address, want := range map[string]string{
		"https://rain.example":                      "https://rain.example",
		"https://rain.example/?campaign=c1#code=x":  "https://rain.example/?campaign=c1",
		"https://RAIN.example/a/b":                  "https://RAIN.example/a/b",
		"https://shop.example/play":                 "https://shop.example/play",
		"https://shop.example/play/now?x=1":         "https://shop.example/play/now?x=1",
		"https://shop.example/player":               "",
		"https://shop.example/":                     "",
		"https://shop.example/play/../steal":        "",
		"https://shop.example/play/%2e%2e/steal":    "",
		`https://shop.example/play/..\steal`:        "",
		`https://shop.example/play/%5C..%5C`:        "",
		"http://rain.example/":                      "",
		"https://rain.example:8443/":                "",
		"https://rain.example.evil.example/":        "",
		"https://rain.example@evil.example/":        "",
		"https://me@rain.example/":                  "",
		`https://evil.example\@rain.example/`:       "",
		"//rain.example/":                           "",
		"/":                                         "",
		"javascript:alert(1)//https://rain.example": "",
		"": "",
	} {
		u, err := r.Parse(address)
		if want == "" {
			testenv.WantErr(t, err, login.ErrForeignReturn, address)
			continue
		}
		testenv.Must(t, err)
		testenv.Equal(t, u.String(), want, "%s", address)
	}
	for _, wrong := range []string{"rain.example", "ftp://rain.example", "https://rain.example/?a=b", "https://a@b"} {
		testenv.WantFail(t, testenv.Err(login.ParseReturns([]string{wrong})), wrong)
	}
}
