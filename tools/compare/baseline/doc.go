// Package baseline is the textbook red packet rain that redrain is compared with: what a competent engineer writes
// first, after the well-known examples. `make compare` runs it as a process of its own beside redrain, on the same
// servers and under the same load. It is no part of the program.
//
// It is good of its kind: each choice is the usual one, and the faster of two usual ones:
//
//   - Sockets: gorilla/websocket: a goroutine that reads and one that writes for each connection, a channel of 256
//     messages between for what comes from others, buffers of 1 KB. What is queued goes out as one frame. The handler
//     returns after the upgrade.
//   - Messages: encoding/json into structs, but for taps and their results, which are read and written without
//     reflection, as in redrain.
//   - A tap: one EVALSHA, when it comes, by the goroutine that has read it; go-redis with its default pool. The script
//     (textbook.lua) is the one of the articles on red packets: HEXISTS, RPOP, HSET, LPUSH. Many of those decode the
//     object and write the winner into it; here it goes round as it is, and the winner stands behind it, which is
//     cheaper. The same goroutine writes the result: no other has to wake.
//   - The stock: a list of JSON objects, pushed when the campaign is made.
//   - A wave: encoded once, then put in the channel of each member by a loop over a map, by the one goroutine that owns
//     the map, as in the chat example. A member whose channel is full is sent away.
//   - Settlement: workers that pop the list, and one SQL transaction for each payout, from prepared statements, with
//     the rows that double entry needs, the hot row of the campaign's account last.
//
// What it leaves out makes it faster, not slower. It does not check the schedule: any text is a drop. It does not
// limit taps, nor wins beyond one for each drop. It does not tell players of settled claims or of the room. A payout
// that was popped from the list is lost when the process dies.
//
// It speaks the part of the protocol redrain.v1 that the load generator uses: hello, welcome, rain, wave, tap,
// result, ping, pong.
package baseline
