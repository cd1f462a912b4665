package sqldb

// HasReturning is for tests.
var HasReturning = hasReturning

// WithoutReturning makes a database do as MySQL does, where the server is MariaDB. It holds until a connection is made.
func (db *DB) WithoutReturning() { db.returning.Store(false) }

// Returning tells whether INSERT … RETURNING is used.
func (db *DB) Returning() bool { return db.returning.Load() }
