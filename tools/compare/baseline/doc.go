// Package baseline is the textbook red packet rain that redrain is compared with. A competent engineer writes it first,
// after the well-known examples. `make compare` runs it as a process of its own beside redrain, on the same
// servers and under the same load. It is no part of the program.
//
// It is good of its kind: each choice is the usual one, and the faster of two usual ones:
//
//   - Sockets: gorilla/websocket. Each connection has a goroutine that reads, one that writes, and buffers of 1 KB. A
//     channel of 256 messages leads to the writer, which sends queued messages as one frame. The handler returns after
//     the upgrade.
//   - Messages: encoding/json into structs. Taps and their results are read and written without reflection, as in
//     redrain.
//   - A tap: one EVALSHA, sent at once by the goroutine that has read it. The client is go-redis with its default pool.
//     The script (textbook.lua) is the one of the articles on red packets: HEXISTS, RPOP, HSET, LPUSH. Many of those
//     decode the object and write the winner into it. Here the winner stands behind the object, which is cheaper. The
//     same goroutine writes the result: no other has to wake.
//   - The stock: a list of JSON objects, pushed when the campaign is made.
//   - A wave: encoded once. One goroutine owns the map of members, and puts the wave in each member's channel, as in
//     the chat example. A member whose channel is full is sent away.
//   - Settlement: workers pop the list. Each payout is one SQL transaction from prepared statements. It writes the rows
//     of double entry; the hot row of the campaign's account comes last.
//
// Its omissions make it faster, not slower. It does not check the schedule: any text is a drop. It does not limit taps,
// nor wins beyond one for each drop. Players hear neither of settled claims nor of the room. A payout that was popped
// from the list is lost when the process dies.
//
// It speaks the part of the protocol redrain.v1 that the load generator uses: hello, welcome, rain, wave, tap,
// result, ping, pong.
package baseline
