package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The names of the events.
const (
	EventStats    = "stats"    // a running campaign's figures, once a second
	EventCampaign = "campaign" // a campaign has changed
	EventRain     = "rain"     // a rain has changed
	EventAlarm    = "alarm"    // an event that needs a person
)

// maxEvent is the longest line of an event stream, in bytes.
const maxEvent = 1 << 20

// Event is one Server-Sent Event.
type Event struct {
	Name string
	Data json.RawMessage
}

// ErrStreamEnded is returned by Events when the server has ended the stream.
var ErrStreamEnded = errors.New("the server has ended the stream of events")

// Events calls handle with each event. It returns nil when ctx ends, the error of handle, or the error that broke the
// stream. It does not reconnect.
func (c *Client) Events(ctx context.Context, handle func(Event) error) error {
	resp, done, err := c.send(ctx, request{method: http.MethodGet, path: path("events"), accept: "text/event-stream",
		timeout: -1})
	if err == nil {
		defer done()
		err = readEvents(resp.Body, handle)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// readEvents reads a stream as the HTML standard describes it
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), without ids and retry times, which serve
// reconnecting.
func readEvents(r io.Reader, handle func(Event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxEvent)
	var name string
	var data []string
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if len(data) > 0 {
				if err := handle(Event{Name: name, Data: json.RawMessage(strings.Join(data, "\n"))}); err != nil {
					return err
				}
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":") // a comment has an empty field
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data = append(data, value)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the stream of events: %w", err)
	}
	return ErrStreamEnded
}
