package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"redrain/docs"
	"redrain/internal/sqldb"
	"redrain/server/health"
)

var (
	sqlComment = regexp.MustCompile(`(?m)--.*$`)
	// sqlGrant matches a GRANT of docs/rights.sql: its rights, their columns if it has some, and its table or *.
	sqlGrant = regexp.MustCompile(`(?s)GRANT ([A-Z, ]+?)(?: \(([^)]*)\))? ON redrain\.(\S+) TO`)
)

// judgeRights tries the rights of docs/rights.sql. EXPLAIN takes the rights of the statement that it explains, and
// executes nothing.
func (r *report) judgeRights(ctx context.Context, db *sqldb.DB) {
	const check = "mysql_rights"
	columns, err := readColumns(ctx, db)
	if err != nil {
		r.add(health.Warn, check, "they cannot be tried: %v; compare them with docs/rights.sql", err)
		return
	}
	var missing []string
	for _, g := range grants(columns) {
		err := db.Each(ctx, func(sqldb.Scan) error { return nil }, "EXPLAIN "+g.takes)
		switch {
		case sqldb.IsDenied(err):
			missing = append(missing, g.name)
		case err != nil:
			r.add(health.Warn, check, "they cannot be tried: %v; compare them with docs/rights.sql", err)
			return
		}
	}
	r.addIf(missing == nil, check, "the user has the rights of docs/rights.sql", health.Fail,
		"the user lacks "+strings.Join(missing, ", ")+"; apply docs/rights.sql")
}

// readColumns reads the columns of each table.
func readColumns(ctx context.Context, db *sqldb.DB) (map[string][]string, error) {
	columns := map[string][]string{}
	err := db.Each(ctx, func(scan sqldb.Scan) error {
		var table, column string
		err := scan(&table, &column)
		columns[table] = append(columns[table], column)
		return err
	}, "SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t "+
		"ON t.table_schema = c.table_schema AND t.table_name = c.table_name "+
		"WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position")
	return columns, err
}

// grant is a right, such as INSERT ON payout, and a statement that takes it.
type grant struct{ name, takes string }

// grants returns the rights of docs/rights.sql for the tables there are, in the order of their names.
func grants(columns map[string][]string) (all []grant) {
	for _, line := range sqlGrant.FindAllStringSubmatch(sqlComment.ReplaceAllString(docs.Rights, ""), -1) {
		rights, only, table := strings.Split(line[1], ", "), line[2], line[3]
		if table == "*" {
			for table := range columns {
				all = append(all, grant{"INSERT ON " + table,
					fmt.Sprintf("INSERT INTO %#q SELECT * FROM %#[1]q", table)}) //nolint:unqueryvet // it reads none
			}
			continue
		}
		changed := columns[table]
		if changed == nil { // its migration is pending
			continue
		}
		if only != "" {
			changed = strings.FieldsFunc(only, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
		}
		if slices.Contains(rights, "UPDATE") {
			var set []string
			for _, column := range changed {
				set = append(set, "`"+column+"` = `"+column+"`")
			}
			all = append(all, grant{"UPDATE ON " + table, "UPDATE `" + table + "` SET " + strings.Join(set, ", ")})
		}
		if slices.Contains(rights, "DELETE") {
			all = append(all, grant{"DELETE ON " + table, "DELETE FROM `" + table + "`"})
		}
	}
	slices.SortFunc(all, func(a, b grant) int { return strings.Compare(a.name, b.name) })
	return all
}
