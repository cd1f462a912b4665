// Package names knows how players are shown to each other: by the name and the picture of their tokens, checked, where
// the operator wants that; see ADR 67.
//
// The gateway knows its players' tokens. A name goes to Redis (store.Names) when its player is to be shown and not
// before: each node hears who has won last, and for whom the node that adds up a room's figures has no name, and
// tells those of its own players. So a tap, a win and an arrival cost nothing for it, and what is kept is as much as
// is shown.
//
//	book.go    Book: what is told, and read
//	clean.go   what a name may have in it
//	hosts.go   where pictures may come from
package names
