//go:build linux

package main

import (
	"database/sql"
	"errors"
	"os"
	"strconv"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

// backends are the real servers, which all contestants share.
type backends struct {
	redisAddr string
	natsURL   string
	redis     *redis.Client
	processes []process // Redis alone: a tap needs no other
	nats      process
	redrain   string // the program; "": it is built from the checkout
}

func startBackends(s *scope) *backends {
	stream := testenv.StartNATS(s)
	b := &backends{redisAddr: testenv.Redis(s), natsURL: stream.URL, nats: process{ofNATS, stream.PID()}}
	b.redis = redis.NewClient(&redis.Options{Addr: b.redisAddr})
	s.Cleanup(func() { _ = b.redis.Close() })
	// Redis rewrites its append-only file in a process of its own, at a time of its own choice, which would burden
	// one contestant only.
	s.check("configure redis", b.redis.ConfigSet(s.ctx, "auto-aof-rewrite-percentage", "0").Err())
	b.processes = []process{{ofRedis, b.redisFigure(s, "server", "process_id")}}
	return b
}

// redisFigure reads a whole number out of INFO.
func (b *backends) redisFigure(s *scope, section, name string) int {
	info, err := b.redis.Info(s.ctx, section).Result()
	s.check("ask redis about itself", err)
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, err := strconv.Atoi(value)
			s.check("read "+name+" of redis", err)
			return n
		}
	}
	s.Fatalf("redis does not report its %s", name)
	return 0
}

// calls is the number of commands that Redis has served, those of scripts included.
func (b *backends) calls(s *scope) int { return b.redisFigure(s, "stats", "total_commands_processed") }

// database is one of a contestant's own.
type database struct {
	*sql.DB

	dsn    string
	server process
}

// newDatabase makes an empty one.
func newDatabase(s *scope) *database {
	dsn := testenv.MySQL(s)
	db, err := sql.Open("mysql", dsn)
	s.check("open the database", err)
	s.Cleanup(func() { _ = db.Close() })
	var file string
	s.check("ask the database about itself", db.QueryRowContext(s.ctx, "SELECT @@pid_file").Scan(&file))
	text, err := os.ReadFile(file) //nolint:gosec // the file that the database itself has named
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	s.check("find the database's process", errors.Join(err, err2))
	return &database{DB: db, dsn: dsn, server: process{ofDatabase, pid}}
}
