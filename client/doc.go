// Package client is a Go client of redrain for other programs.
//
// A Socket speaks the WebSocket protocol redrain.v1 (docs/protocol.md):
//
//	s, err := client.Dial(ctx, client.SocketOptions{URL: "ws://127.0.0.1:8080/ws"})
//	…
//	err = s.Hello(1, token, campaign)
//	for {
//		m, err := s.Receive()
//		if closed, ok := errors.AsType[*client.ClosedError](err); ok && !closed.Retry() {
//			return closed // the same would happen again
//		}
//		…
//		if m.Type == "result" {
//			err = json.Unmarshal(m.Body, &result)
//		}
//	}
package client
