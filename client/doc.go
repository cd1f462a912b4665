// Package client is a Go client of redrain for other programs. The command line, the simulated players and the tests
// use it too. A Client calls the HTTP API (docs/openapi.yaml). A Socket speaks the WebSocket protocol redrain.v1
// (docs/build/protocol.md). A Client has methods for the usual requests; Get, Post and Pages make all others.
//
//	c, err := client.New(client.Options{Server: "http://127.0.0.1:8080", Token: token})
//	…
//	for campaign, err := range client.All(ctx, c.Campaigns) {
//		…
//	}
//	player, err := client.Get[client.Player](ctx, c, "users", id)
//
//	s, err := client.Dial(ctx, client.SocketOptions{URL: "ws://127.0.0.1:8080/ws"})
//	…
//	err = s.Hello(1, token, campaign)
//	for {
//		m, err := s.Receive()
//		if closed, ok := errors.AsType[*client.ClosedError](err); ok && !closed.Retry() {
//			return closed // a new connection would be closed too
//		}
//		…
//		if m.Type == "result" {
//			var result client.Result
//			err = json.Unmarshal(m.Body, &result)
//		}
//	}
package client
