package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/testenv"
)

func TestEvents(t *testing.T) {
	stream := ": hello\n\n" +
		"event: stats\ndata: {\"won\":1}\n\n" +
		"event:rain\r\ndata:{\"id\":\"r1\"}\r\nid: 7\r\n\r\n" +
		"data: {\ndata: }\nretry: 10\n\n" + // two lines of data, no name
		"event: lost\n\n" + // no data: no event
		"event: alarm\ndata: \"" + strings.Repeat("x", 100_000) + "\"\n\n" +
		"event: cut\ndata: {" // the stream ends in the middle
	c, got := serve(t, http.StatusOK, "text/event-stream", stream)
	var events [][2]string
	err := c.Events(t.Context(), func(e client.Event) error {
		events = append(events, [2]string{e.Name, string(e.Data)})
		return nil
	})
	testenv.WantErr(t, err, client.ErrStreamEnded, "error")
	want := [][2]string{{"stats", `{"won":1}`}, {"rain", `{"id":"r1"}`}, {"", "{\n}"},
		{"alarm", `"` + strings.Repeat("x", 100_000) + `"`}}
	testenv.Equal(t, cmp.Diff(want, events), "", "events")
	if got.Line != "GET /api/v1/events" || got.Accept != "text/event-stream" {
		t.Errorf("request %+v", got)
	}
}

func TestEventsEnd(t *testing.T) {
	c := connect(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	testenv.WantErr(t, c.Events(ctx, func(client.Event) error { cancel(); return nil }), nil, "after cancelling")
	enough := errors.New("enough")
	testenv.WantErr(t, c.Events(t.Context(), func(client.Event) error { return enough }), enough,
		"after the handler's error")
}

func TestEventsRefused(t *testing.T) {
	c, _ := serve(t, http.StatusUnauthorized, "application/problem+json", `{"code":"unauthorized"}`)
	if err := c.Events(t.Context(), func(client.Event) error { return nil }); !client.HasStatus(err, 401) {
		t.Errorf("%v", err)
	}
}

func TestEventTooLong(t *testing.T) {
	c, _ := serve(t, http.StatusOK, "text/event-stream", "data: "+strings.Repeat("x", 2<<20))
	err := c.Events(t.Context(), func(client.Event) error { return nil })
	if err == nil || errors.Is(err, client.ErrStreamEnded) {
		t.Errorf("%v", err)
	}
}
