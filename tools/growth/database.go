package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"redrain/internal/sqldb"
)

// openDatabase opens the database that is measured, and tells how to end it.
func openDatabase(ctx context.Context, o options) (db *sqldb.DB, end func() error, err error) {
	dsn, stop := o.dsn, func() error { return nil }
	if dsn == "" {
		if dsn, stop, err = startMariaDB(ctx, o); err != nil {
			return nil, nil, err
		}
	}
	if db, err = sqldb.OpenMySQL(dsn); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	end = func() error { return errors.Join(db.Close(), stop()) }
	for began := time.Now(); ; {
		if err = db.Ping(ctx); err == nil {
			break
		}
		if ctx.Err() != nil || time.Since(began) > startLimit {
			return nil, nil, errors.Join(err, end())
		}
		wait(ctx, 100*time.Millisecond)
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return db, end, nil
}

// startLimit is how long a mariadbd may take to start: one that was killed reads its log first.
const startLimit = 5 * time.Minute

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// startMariaDB starts a mariadbd of this run's own, with a database.
func startMariaDB(ctx context.Context, o options) (dsn string, stop func() error, err error) {
	dir := o.data
	clean := func() error { return nil }
	if dir == "" {
		if dir, err = os.MkdirTemp("", "redrain-growth-*"); err != nil {
			return "", nil, err
		}
		clean = func() error { return os.RemoveAll(dir) }
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, err
		}
		install := mariaDB(ctx, "mariadb-install-db", "--datadir="+data, "--skip-test-db",
			"--auth-root-authentication-method=normal")
		if out, err := install.CombinedOutput(); err != nil {
			return "", nil, errors.Join(fmt.Errorf("mariadb-install-db: %w\n%s", err, out), clean())
		}
	}
	first := filepath.Join(dir, "first.sql")
	if err := os.WriteFile(first, []byte("CREATE DATABASE IF NOT EXISTS redrain;\n"), 0o600); err != nil {
		return "", nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return "", nil, err
	}
	// The server ends by stop and not with ctx, so that what it has is whole when it is opened again.
	server := mariaDB(context.WithoutCancel(ctx), "mariadbd", "--datadir="+data, "--tmpdir="+dir,
		"--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"), "--bind-address=127.0.0.1",
		"--port="+port, "--skip-name-resolve", "--init-file="+first, "--character-set-server=utf8mb4",
		"--transaction-isolation=READ-COMMITTED", "--innodb-buffer-pool-size="+strconv.Itoa(o.memory)+"M",
		"--innodb-log-file-size=1G", "--log-error="+filepath.Join(dir, "log.err"))
	if err := server.Start(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("mariadbd: %w", err), clean())
	}
	return "root@tcp(127.0.0.1:" + port + ")/redrain", func() error {
		err := server.Process.Signal(syscall.SIGTERM)
		return errors.Join(err, server.Wait(), clean())
	}, nil
}

// mariaDB is a program of MariaDB without the machine's own configuration. Root has to say that root is meant.
func mariaDB(ctx context.Context, name string, args ...string) *exec.Cmd {
	all := []string{"--no-defaults"}
	if os.Geteuid() == 0 {
		all = append(all, "--user=root")
	}
	return exec.CommandContext(ctx, name, append(all, args...)...)
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
