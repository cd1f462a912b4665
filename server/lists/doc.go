// Package lists tells who may take part, as far as lists say: those that campaigns name, and those of players and
// addresses who may not. A node knows which lists there are, and the networks on them; players it looks up when they
// come in, never when they tap. When a list has changed, it looks again at who is here.
package lists
