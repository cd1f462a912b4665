package sqldb

// HasReturning is for tests.
func HasReturning(version string) bool { return serverOf(version).returning }

// Session are the statements that set up a connection that writes, on a server of a version.
func Session(version string) []string { return serverOf(version).session(writes, nil) }

// WithoutReturning makes a database on MariaDB behave like MySQL. It holds until a connection is made.
func (db *DB) WithoutReturning() { db.returning.Store(false) }

// Returning reports whether INSERT … RETURNING is used.
func (db *DB) Returning() bool { return db.returning.Load() }

// MigrationsOf are the files of a kind of database's migrations, by name.
func MigrationsOf(kind string) (map[string]string, error) {
	folder := "migrations/" + kind
	files, err := migrations.ReadDir(folder)
	texts := map[string]string{}
	for _, f := range files {
		text, err := migrations.ReadFile(folder + "/" + f.Name())
		if err != nil {
			return nil, err
		}
		texts[f.Name()] = string(text)
	}
	return texts, err
}

// MySQLTail is the end of an INSERT on MySQL.
func (m Merge) MySQLTail() string { return m.tail(MySQL, "t") }

// MySQLRow is a row of an INSERT on MySQL, with a value of each kind.
func MySQLRow() string {
	r := takeRow(MySQL, -1)
	defer r.giveBack()
	r.values = 0
	r.Int(-7)
	r.Text("it's", " 😀")
	r.Bytes([]byte{0, 0xff})
	r.null()
	return "(" + string(r.text) + ")"
}
