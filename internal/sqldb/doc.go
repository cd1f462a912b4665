// Package sqldb opens the database that holds the money, brings its tables up to date, and runs transactions on it.
//
// Two kinds of database stand behind one [DB]: MySQL or MariaDB in production, and SQLite in the in-process default.
// Only this package knows how they differ: how a connection is set up, how a row is inserted or merged ([Tx.Insert]),
// and what an error means ([IsUnavailable], [IsRefused], [IsDuplicate]). The statements themselves are plain SQL that
// both understand.
//
// Money is BIGINT, times are BIGINT Unix milliseconds, ids are bytes. Isolation is READ COMMITTED: unique keys
// and conditional updates prevent what must not happen twice, never what a transaction has read.
package sqldb
