// Package bench plays many simulated players over real WebSockets: a load generator.
//
//	crowd, err := bench.Gather(ctx, bench.Options{
//		Targets:   []string{"ws://127.0.0.1:8080/ws"}, // several nodes: players are spread over them in turn
//		Campaigns: []string{campaign},
//		Players:   1000,
//		Token:     func(_ context.Context, player int) (string, error) { return tokens[player], nil },
//	})
//	…                                       // all have joined; start the rain now, and await its moment
//	report := crowd.Play(ctx, bench.Plan{Duration: 10 * time.Second})              // closed loop
//	report = crowd.Play(ctx, bench.Plan{Duration: 10 * time.Second, Rate: 20_000}) // open loop, taps/s of all
//	crowd.Leave()
//
// Between Gather and Leave, Play may be called any number of times, also with Watch, when nobody taps.
//
// A player taps the packets of the waves that it has received, in rising order, each at most once, and only while they
// are in the air by the server's time. In a closed loop it taps again when the result has come. In an open loop the
// taps have a timetable, and a tap's time counts from its place there: a server that stalls for a second is charged
// for every tap of that second ("coordinated omission"). With Plan.Hand a player taps as a person or a program does.
//
// Each player is a goroutine with a client.Socket. A wave is decoded once for all players of a campaign. Players come
// from 127.0.0.1, 127.0.0.2 and so on if the target is this machine, a thousand from each, because ports are limited.
package bench
