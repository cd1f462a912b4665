// Package names shares the players' display profiles: the checked name and avatar of their tokens, if the operator
// enables that; see ADR 67.
//
// The gateway has its players' tokens. A name is written to Redis (store.Names) only when its player is to be shown.
// Each node receives the newest winners, and the players whose names a room's figures lack, and publishes the names of
// its own players. So taps, wins and arrivals cost nothing, and only shown names are stored.
//
//	book.go    Book: publishes and reads profiles
//	clean.go   the characters of a name, and the hosts of avatars
package names
