// Package export writes all that the ledger has of a campaign which is over, as lines of JSON, and proves such a file
// without a database: that it is complete, that each packet holds what the split says and was paid or given back once,
// and in its lane, that the sums fit to the cent, and that each transaction and each audit record has the hash that was
// written with it.
//
// A file begins with a line of [Header]. Then come rows: a line {"table":…,"columns":[…]} says of what, and each line
// after it is a row, a list with the value of each column as text, null where there is none, and {"hex":"…"} where it
// is no text. The last line is [Trailer], with the SHA-256 of all bytes before it.
package export
