// Package sqldb opens the ledger's database, migrates its tables, and runs transactions on it.
//
// Two kinds of database stand behind one [DB]: MySQL or MariaDB in production, and SQLite in the in-process default.
// Only this package handles their differences: setting up a connection, inserting or merging a row ([Tx.Insert]), and
// the meaning of an error ([IsUnavailable], [IsRefused], [IsDuplicate]). The statements themselves are plain SQL that
// both understand.
//
// Money is BIGINT, times are BIGINT Unix milliseconds, ids are bytes. Isolation is READ COMMITTED: unique keys and
// conditional updates prevent repetitions, never the rows that a transaction has read.
package sqldb
