// Package login lets players into pages by links. A link has a code, which is exchanged for the player's token once,
// within minutes, at any node: a link that is seen later, in a history, a chat or a log, is worth nothing.
//
// Nothing that is kept tells the code: it is found by one hash of the code, and sealed under another. Who reads all of
// Redis can sign in as nobody.
package login
