// Package posting brings outbox entries into the books, once, however often they come. What contradicts the books
// becomes a dead letter.
package posting
