// Package export writes a finished campaign's rows as lines of JSON, and verifies such a file without a database. A
// valid file is complete. Each packet has its amount by the split, and was paid or returned once, in its lane. The
// sums match to the cent, and each transaction and audit record has its stored hash.
//
// A file begins with a line of [Header]. Then come rows: a line {"table":…,"columns":[…]} starts a table, and each
// following line is a row. A row is a list with the value of each column as text. null is a missing value, and
// {"hex":"…"} a value that is no text. The last line is [Trailer], with the SHA-256 of all bytes before it.
package export
