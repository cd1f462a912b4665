package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/rain"
)

// apiClient calls the HTTP API by hand, and holds each answer to docs/openapi.yaml.
type apiClient struct {
	t      *testing.T
	n      *node
	token  string
	router routers.Router
}

func newAPIClient(t *testing.T, n *node) *apiClient {
	t.Helper()
	doc := testenv.Got(openapi3.NewLoader().LoadFromData(docs.OpenAPI)).Must(t)
	doc.Servers = nil // whatever host the node has
	for path := range doc.Paths.Map() {
		if !strings.HasPrefix(path, "/api/v1") {
			item := doc.Paths.Value(path)
			doc.Paths.Delete(path)
			doc.Paths.Set("/api/v1"+path, item)
		}
	}
	router := testenv.Got(gorillamux.NewRouter(doc)).Must(t)
	return &apiClient{t: t, n: n, token: operatorToken, router: router}
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) code() string { return a.field("code") }

func (a answer) field(name string) string {
	var m map[string]any
	_ = json.Unmarshal(a.body, &m) // then there is no such field
	if m[name] == nil {
		return ""
	}
	return fmt.Sprint(m[name])
}

// faults are the fields that an answer names as faulty.
func (a answer) faults() map[string]bool {
	var m struct {
		Errors []rain.FieldError `json:"errors"`
	}
	_ = json.Unmarshal(a.body, &m)
	fields := map[string]bool{}
	for _, e := range m.Errors {
		fields[e.Field] = e.Message != ""
	}
	return fields
}

func (c *apiClient) call(method, path, body string, header ...string) answer {
	c.t.Helper()
	req := testenv.Got(http.NewRequestWithContext(within(c.t, 30*time.Second), method, c.n.url+"/api/v1"+path,
		strings.NewReader(body))).Must(c.t)
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp := testenv.Got(httpClient.Do(req)).Must(c.t)
	defer func() { _ = resp.Body.Close() }()
	data := testenv.Got(io.ReadAll(resp.Body)).Must(c.t)
	a := answer{resp.StatusCode, resp.Header, data}
	if a.status >= 400 {
		if got := a.header.Get("Content-Type"); got != "application/problem+json" || a.code() == "" ||
			a.field("status") != fmt.Sprint(a.status) {
			c.t.Errorf("%s %s: %d is not a problem: %s %s", method, path, a.status, got, a.body)
		}
	}
	c.validate(req, a)
	return a
}

// validate holds a response to the description, if that has the route.
func (c *apiClient) validate(req *http.Request, a answer) {
	c.t.Helper()
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		if a.status < 400 {
			c.t.Errorf("%s %s is not in openapi.yaml: %v", req.Method, req.URL.Path, err)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(c.t.Context(), out); err != nil {
		c.t.Errorf("%s %s: the answer is not as openapi.yaml says: %v\n%s", req.Method, req.URL.Path, err, a.body)
	}
}

func (c *apiClient) want(a answer, status int, code string) {
	c.t.Helper()
	if a.status != status || a.code() != code {
		c.t.Errorf("%d %q, want %d %q: %s", a.status, a.code(), status, code, a.body)
	}
}
