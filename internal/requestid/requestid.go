package requestid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
)

// Header is the header of a request's id, in requests and answers.
const Header = "X-Request-ID"

// Most is the length limit of an id, in bytes. HAProxy's examples of unique-id-format have up to 94.
const Most = 128

// valid matches an accepted id: the alphabet, digits and the marks of usual proxies.
var valid = regexp.MustCompile(`^[A-Za-z0-9_.:/+=@-]{1,128}$`)

// traceparent matches the header of https://www.w3.org/TR/trace-context/#traceparent-header, in any version but the
// invalid ff. A later version may have more fields.
var traceparent = regexp.MustCompile(`^(?:[0-9a-e][0-9a-f]|f[0-9a-e])-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$`)

type key struct{}

// With returns a context with a request's id.
func With(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// Of returns the id of the request under ctx, or "".
func Of(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// Handler gives each request an id. It is that of X-Request-Id, or the trace-id of traceparent, if the header is valid.
// Otherwise it is new, in the form of a trace-id.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := idOf(r.Header)
		w.Header().Set(Header, id)
		next.ServeHTTP(w, r.WithContext(With(r.Context(), id)))
	})
}

func idOf(h http.Header) string {
	if id := h.Get(Header); valid.MatchString(id) {
		return strings.Clone(id) // a connection keeps the id, but not all headers
	}
	// A trace-id of zeros is invalid.
	if m := traceparent.FindStringSubmatch(h.Get("Traceparent")); len(m) > 1 && strings.Trim(m[1], "0") != "" {
		return strings.Clone(m[1])
	}
	var made [16]byte
	_, _ = rand.Read(made[:]) // never fails
	return hex.EncodeToString(made[:])
}

// Logger returns a logger that adds the id of a line's context as the field "request".
func Logger(log *slog.Logger) *slog.Logger { return slog.New(handler{log.Handler()}) }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := Of(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
