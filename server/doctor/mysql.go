package doctor

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/health"
)

func askMySQL(ctx context.Context, o Options) (r report) {
	if o.Config.MySQL == "" {
		r.add(health.OK, "mysql", "the ledger is in this process (SQLite)")
		return r
	}
	db, err := sqldb.OpenMySQL(o.Config.MySQL)
	if err == nil {
		defer func() { _ = db.Close() }()
		err = db.Ping(ctx)
	}
	variables := map[string]string{}
	if err == nil {
		variables, err = readVariables(ctx, db)
	}
	if err != nil {
		r.add(health.Fail, "mysql", "%v; check --mysql, its user and the network", err)
		return r
	}
	hasTables := r.judgeSchema(ctx, db)
	leases := ledger.New(db, func() int64 { return time.Now().UnixMilli() }, rain.NewAmountsCache()).Leases
	unfit := db.CheckServer(ctx)
	isReadOnly := variables["read_only"] != "OFF"
	switch {
	case isReadOnly:
		r.add(health.Fail, "mysql", "the server is read-only; give the address of the primary, or set read_only to OFF")
	case !hasTables || unfit != nil:
		r.add(health.OK, "mysql", "it answers")
	default:
		r.ask(ctx, health.Ledger(func(ctx context.Context) error {
			return leases.Probe(ctx, "doctor "+rand.Text())
		}))
	}
	r.judgeVariables(variables, o.Nodes)
	r.addIf(unfit == nil, "mysql_settings", "binlog_format and max_allowed_packet fit", health.Fail, fmt.Sprint(unfit))
	if hasTables && !isReadOnly && unfit == nil {
		r.judgeRights(ctx, db)
	}
	if hasTables {
		if holder, _, err := leases.Holder(ctx, cluster.RedisLease); err == nil {
			r.holder = &holder
		}
	}
	if clock, err := readClock("the database", func() (time.Time, error) { return db.Time(ctx) }); err == nil {
		r.clocks = append(r.clocks, clock)
	}
	return r
}

// readVariables reads the server's variables that matter here. A variable that the server lacks is "".
func readVariables(ctx context.Context, db *sqldb.DB) (map[string]string, error) {
	all := map[string]string{}
	err := db.Each(ctx, func(scan sqldb.Scan) error {
		var name, value string
		err := scan(&name, &value)
		all[strings.ToLower(name)] = value
		return err
	}, "SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'wsrep_on', 'read_only', "+
		"'max_connections', 'innodb_flush_log_at_trx_commit')")
	return all, err
}

// judgeSchema compares the tables with this version's. It reports whether there are any.
func (r *report) judgeSchema(ctx context.Context, db *sqldb.DB) (hasTables bool) {
	const check = "mysql_schema"
	all, err := db.Migrations(ctx)
	if err != nil {
		r.add(health.Fail, check, "%v", err)
		return false
	}
	pending, newest := 0, ""
	for _, m := range all {
		hasTables = hasTables || m.Done
		switch {
		case m.IsNewer:
			newest = m.Name
		case !m.Done:
			pending++
		}
	}
	switch {
	case newest != "":
		r.add(health.Fail, check, "the tables have migration %s; run the newer redrain", newest)
	case !hasTables:
		r.add(health.Warn, check, "there are no tables yet; run redrain migrate, or start a node whose user may "+
			"create tables")
	case pending > 0:
		r.add(health.Warn, check, "the tables are older than this version by %d migrations; run redrain migrate",
			pending)
	default:
		r.add(health.OK, check, "the tables are those of this version")
	}
	return hasTables
}

func (r *report) judgeVariables(v map[string]string, nodes int) {
	kind, least := "MySQL", "8.0"
	switch {
	case strings.Contains(v["version"], "MariaDB"):
		kind, least = "MariaDB", "10.11"
	case strings.Contains(v["version_comment"], "Percona"):
		kind = "Percona Server"
	}
	if v["wsrep_on"] == "ON" {
		kind += " with Galera"
	}
	number, _, _ := strings.Cut(v["version"], "-")
	r.addIf(isAtLeast(number, least), "mysql_version", kind+" "+number, health.Fail,
		kind+" "+number+" is too old: use MySQL 8.0 or MariaDB 10.11")
	flush := v["innodb_flush_log_at_trx_commit"]
	r.addIf(flush == "1", "mysql_durability", "a commit is on the disk (innodb_flush_log_at_trx_commit 1)", health.Fail,
		"innodb_flush_log_at_trx_commit is "+flush+", so a power cut loses settled money; set it to 1")
	r.judgeConnections(v["max_connections"], nodes)
}

func (r *report) judgeConnections(most string, nodes int) {
	const each = sqldb.MySQLConnections
	limit, _ := strconv.Atoi(most)
	level := health.Warn
	if limit < each {
		level = health.Fail
	}
	need := fmt.Sprintf("the nodes open up to %d (%d each)", nodes*each, each)
	r.addIf(limit >= nodes*each, "mysql_connections", fmt.Sprintf("max_connections is %s, and %s", most, need), level,
		fmt.Sprintf("max_connections is %s, but %s; raise it", most, need))
}
