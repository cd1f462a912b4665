// Package sockets knows every connection of the process, and lets nobody hold one for nothing: it counts them by what
// they do and by address (table.go), makes room for new ones where the descriptors run out (listener.go),
// and gives up those that stand still: between two requests (table.go), while they send a body (body.go), or while they
// should read an answer (conn.go). What is left is net/http's: headers that do not come; and of room: players.
package sockets
