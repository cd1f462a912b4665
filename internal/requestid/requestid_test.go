package requestid_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"redrain/internal/requestid"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestHandler: a valid id or trace is accepted, and anything else gets a new id. The answer, the context and the log
// have the same one.
func TestHandler(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	const parent = "-00f067aa0ba902b7-01"
	made := regexp.MustCompile(`^[0-9a-f]*[1-9a-f][0-9a-f]*$`)
	for name, c := range map[string]struct{ id, traceparent, want string }{
		"none":                   {"", "", ""},
		"a UUID":                 {"0b6f2f3e-3a51-4d5f-8a0c-4f6d2f1f9c11", "", "0b6f2f3e-3a51-4d5f-8a0c-4f6d2f1f9c11"},
		"HAProxy's example":      {"7F000001:8296_7F00001E", "", "7F000001:8296_7F00001E"},
		"the marks":              {"a.b:c/d+e=f@g-h", "", "a.b:c/d+e=f@g-h"},
		"the longest":            {strings.Repeat("x", requestid.Most), "", strings.Repeat("x", requestid.Most)},
		"too long":               {strings.Repeat("x", requestid.Most+1), "", ""},
		"a space":                {"a b", "", ""},
		"markup":                 {"<b>", "", ""},
		"a line":                 {"a\nb", "", ""},
		"another script":         {"会", "", ""},
		"a trace":                {"", "00-" + trace + parent, trace},
		"both":                   {"mine", "00-" + trace + parent, "mine"},
		"a bad id and a trace":   {"a b", "00-" + trace + parent, trace},
		"a later version":        {"", "cc-" + trace + parent + "-what the future will be like", trace},
		"the invalid version":    {"", "ff-" + trace + parent, ""},
		"capitals":               {"", "00-" + strings.ToUpper(trace) + parent, ""},
		"a trace of zeros":       {"", "00-" + strings.Repeat("0", 32) + parent, ""},
		"a trace that is short":  {"", "00-" + trace[1:] + parent, ""},
		"a trace without parent": {"", "00-" + trace, ""},
	} {
		var text bytes.Buffer
		log := requestid.Logger(slog.New(slog.NewTextHandler(&text, nil))).With("node", "n1")
		var seen string
		h := requestid.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen = requestid.Of(r.Context())
			log.InfoContext(r.Context(), "received")
		}))
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Request-ID", c.id)
		r.Header.Set("Traceparent", c.traceparent)
		h.ServeHTTP(w, r)
		if seen != c.want && (c.want != "" || len(seen) != 32 || !made.MatchString(seen)) {
			t.Errorf("%s: %q, want %q", name, seen, c.want)
		}
		testenv.Equal(t, w.Header().Get(requestid.Header), seen, "%s: the answer's id", name)
		testenv.Equal(t, strings.Contains(text.String(), "node=n1 request="+seen) ||
			strings.Contains(text.String(), `node=n1 request="`+seen+`"`), true, "%s: id in %s", name, text.String())
	}
}
