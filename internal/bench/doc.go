// Package bench plays many simulated players over real WebSockets, at less cost than a server has with them: a load
// generator.
//
//	crowd, err := bench.Gather(ctx, bench.Options{
//		Targets:   []string{"ws://127.0.0.1:8080/ws"}, // several nodes: players are dealt out in turn
//		Campaigns: []string{campaign},
//		Players:   1000,
//		Token:     func(_ context.Context, player int) (string, error) { return tokens[player], nil },
//	})
//	…                                       // all have joined; start the rain now, and await its moment
//	report, err := crowd.Play(ctx, bench.Plan{Duration: 10 * time.Second})              // closed loop
//	report, err = crowd.Play(ctx, bench.Plan{Duration: 10 * time.Second, Rate: 20_000}) // open loop, taps/s of all
//	err = crowd.Leave()
//
// Between Gather and Leave, Play may be called any number of times, also with Watch, when nobody taps: for idle
// connections and fan-out. Options.Stalled players stop reading.
//
// # What a player does
//
// It taps the packets of the waves that it has received, in rising order, each at most once, and only while they
// are in the air by the server's time, whose offset comes from welcome and pong. In a closed loop it taps again
// when the result is there and it has thought; with nothing in the air it starves, which is counted (let the rain
// be dense and slow to keep it fed: 400 drops a second that fall for 20 s). In an open loop the taps have a
// timetable, and how long one took is counted from its place in that: a server that stalls for a second is charged
// for every tap of that second, and not for one of each player (no "coordinated omission").
//
// With Plan.Hand it taps to win instead: as a person, who needs time to see a drop, takes the newest and rests between
// taps, or as a program, which waits for nothing.
//
// Who has to wait for a seat keeps the place by asking (Options.Turn) as often as the server says; a Retry-After is
// obeyed. Plan.Stay has players go for good, so that those who wait come in; Report.Waited has their order.
//
// It answers pings, and comes back after the close codes that allow it, with full jitter or when goodbye says. It
// taps nothing again; what was told in a welcome counts as told.
//
// # How it is lean
//
//	loop (a goroutine): inbox of calls ─▶ alarms, timetable ─▶ poller.wait ─▶ frames ─▶ scanner ─▶ player ─▶ next tap
//
// On Linux the poller is epoll over raw sockets, so that a tap costs a write, a read and a part of a wait, and next
// to nothing besides; elsewhere, and for wss, a goroutine reads each connection. The server's usual spelling of
// results and waves is read by a scanner, any other one by encoding/json. A wave is read once for all players of a
// loop, the others' copies are compared byte by byte. Frames are masked with zeros, which is allowed and free. All
// that a loop counts is its own; nobody else looks at it but by a call.
//
// Players come from 127.0.0.1, 127.0.0.2 and so on where the target is this machine, a thousand from each, so that the
// limit is that of open files and not that of ports.
package bench
