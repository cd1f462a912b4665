// Package sockets tracks every connection of the process, and closes those that hold a descriptor without need. It
// counts them by their work and by address (table.go). If the descriptors run out, it makes room for new ones
// (listener.go). It closes a connection that stands still between two requests (table.go), while sending a body
// (body.go), or while an answer is written to it (conn.go). Package net/http limits the wait for headers, and package
// room looks after players.
package sockets
