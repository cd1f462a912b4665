// Package sqldb opens the database that holds the money, brings its tables up to date, and runs transactions on it.
//
// Two kinds of database stand behind one [DB]: MySQL or MariaDB in production, and SQLite in the in-process default.
// What differs between them stays in this package: how a connection is set up, how a row is inserted or merged
// ([Tx.Insert]), which errors mean "try again" and which mean "the row is there already". The statements
// themselves are plain and the same for both.
//
// Money is BIGINT, times are BIGINT Unix milliseconds, ids are bytes. Isolation is READ COMMITTED: what must not
// happen twice is prevented by unique keys and conditional updates, never by what a transaction happens to have read.
package sqldb
