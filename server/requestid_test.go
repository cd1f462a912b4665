package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"redrain/internal/testenv"
)

// TestRequestIDs: an id goes from the request to the answer, the problem, the audit and the log.
func TestRequestIDs(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var log bytes.Buffer // read after the end of the server
	s, err := New(t.Context(), ownConfig(""), slog.New(slog.NewTextHandler(&log, nil)), io.Discard)
	testenv.Must(t, err)
	stop := testenv.Run(t, s.Run)
	// ask sends a request with a header, and decodes the answer into to. It returns the answer's id.
	ask := func(method, path, body, header, value string, status int, to any) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+path,
			strings.NewReader(body))
		testenv.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+s.cfg.OperatorToken)
		r.Header.Set(header, value)
		answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
		testenv.Must(t, err)
		defer func() { _ = answer.Body.Close() }()
		testenv.Equal(t, answer.StatusCode, status, "%s %s", method, path)
		testenv.Must(t, json.NewDecoder(answer.Body).Decode(to))
		return answer.Header.Get("X-Request-ID")
	}
	var balance struct{}
	id := ask("POST", "/api/v1/sponsors/rid/deposits", `{"amount":5,"reference":"r"}`, "X-Request-ID", "lb:1/a", 201,
		&balance)
	testenv.Equal(t, id, "lb:1/a", "the balancer's id")
	var audit struct {
		Items []struct {
			Request string `json:"request"`
		} `json:"items"`
	}
	made := ask("GET", "/api/v1/audit?target=sponsor:rid", "", "X-Request-ID", "not valid", 200, &audit)
	if len(audit.Items) != 1 || audit.Items[0].Request != "lb:1/a" || len(made) != 32 {
		t.Errorf("audit %+v; the new id %q", audit, made)
	}
	var problem struct {
		RequestID string `json:"request_id"`
	}
	id = ask("GET", "/api/v1/nowhere", "", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01", 404, &problem)
	testenv.Equal(t, [2]string{id, problem.RequestID}, [2]string{trace, trace}, "ids of a problem")
	socket, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+s.Addr().String()+"/ws",
		http.Header{"X-Request-ID": {"ws-1"}, "Sec-Websocket-Protocol": {"redrain.v1"}})
	testenv.Must(t, err)
	testenv.Equal(t, answer.Header.Get("X-Request-ID"), "ws-1", "the id of an upgrade")
	testenv.Must(t, socket.Close())
	stop()
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `msg="operator's command"`) && strings.Contains(line, "request=lb:1/a") {
			return
		}
	}
	t.Errorf("no command with its request in the log:\n%s", log.String())
}
