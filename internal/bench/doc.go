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
// Between Gather and Leave, Play may be called any number of times, also with Watch, without taps.
//
// A player taps the packets of received waves in rising order, each once, while they are in the air by the
// server's time. In a closed loop it taps again after the result. In an open loop the taps have a schedule, and a tap's
// time counts from there. So a stall of the server is charged to all its taps ("coordinated omission"). With Plan.Hand
// a player taps like a person or a program.
//
// Each player is a goroutine with a client.Socket. A wave is decoded once for all players of a campaign. If the target
// is this machine, a thousand players each come from 127.0.0.1, 127.0.0.2 and so on, because ports are limited.
package bench
