package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// need is a program that tests start.
type need struct {
	program string
	apt     string // the package of Debian that has it
	without string // the tests that are left out if it is missing
}

const raceDetector = "the race detector: it is linked by a C compiler"

var servers = []need{
	{"redis-server", "redis-server", "tests on a real Redis"},
	{"redis-cli", "redis-tools", "tests on a Redis Cluster"},
	{"mariadbd", "mariadb-server", "tests on MariaDB"},
	{"mariadb-install-db", "mariadb-server", "tests on MariaDB"},
	{"chromium-headless-shell", "chromium-headless-shell", "tests of the pages in a browser"},
	{"haproxy", "haproxy", "tests behind a proxy"},
	{"nginx", "nginx-light", "tests behind nginx"},
	{"prometheus-alertmanager", "prometheus-alertmanager", "tests with Alertmanager"},
	{"valkey-server", "valkey-server", "tests on Valkey"}, // Debian 12 has it in its backports
	{"prometheus", "prometheus", "tests of the alert rules"},
	{"prometheus-alertmanager", "prometheus-alertmanager", "tests of the compose file"},
	{"systemd-analyze", "systemd", "the check of the systemd unit"},
	{"/usr/lib/galera/libgalera_smm.so", "galera-4", "tests on a Galera node"},
}

var compiler = []need{
	{"gcc", "gcc", raceDetector},
	{"gcc", "libc6-dev", raceDetector}, // gcc alone has no headers
}

// prepare installs or builds the programs that the tests start, if it may. It returns the tests that are left out.
func prepare(ctx context.Context, onServers, race, install bool) (leftOut []string) {
	var wanted []need
	if onServers {
		wanted = append(wanted, servers...)
	}
	if race {
		wanted = append(wanted, compiler...)
	}
	var building sync.WaitGroup
	if onServers {
		building.Go(func() { buildNATS(ctx) })
	}
	missing := lacking(ctx, wanted)
	if len(missing) > 0 && install {
		if err := aptInstall(ctx, missing); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "test: not everything could be installed:", err)
		}
		missing = lacking(ctx, wanted)
	}
	building.Wait()
	for _, n := range missing {
		if !slices.Contains(leftOut, n.without) {
			_, _ = fmt.Fprintf(os.Stderr, "test: WARNING: %s is not installed: without %s\n", n.program, n.without)
			leftOut = append(leftOut, n.without)
		}
	}
	return leftOut
}

// buildNATS builds the server of the go.mod before the first test waits for it. A fault shows again in that test.
func buildNATS(ctx context.Context) {
	build := exec.CommandContext(ctx, "go", "-C", "..", "tool", "-n", "nats-server")
	if out, err := build.CombinedOutput(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "test: build nats-server: %v\n%s", err, out)
	}
}

// lacking are those that are not there. A C compiler is there when it finds the headers.
func lacking(ctx context.Context, wanted []need) (missing []need) {
	for _, n := range wanted {
		there := findable(n.program)
		if there && n.without == raceDetector {
			compile := exec.CommandContext(ctx, n.program, "-include", "stdlib.h", "-fsyntax-only", "-x", "c",
				os.DevNull)
			there = compile.Run() == nil
		}
		if !there {
			missing = append(missing, n)
		}
	}
	return missing
}

// findable looks where the tests look: Debian's servers are not in the PATH of ordinary users.
func findable(program string) bool {
	if program == "chromium-headless-shell" && findable("chromium") {
		return true // the whole browser will do
	}
	if filepath.IsAbs(program) {
		_, err := os.Stat(program)
		return err == nil
	}
	for _, dir := range []string{"", "/usr/sbin/", "/usr/local/sbin/", "/usr/libexec/"} {
		if _, err := exec.LookPath(dir + program); err == nil {
			return true
		}
	}
	return false
}

// aptInstall installs packages as root, or with a sudo that asks for no password.
func aptInstall(ctx context.Context, missing []need) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("there is no apt-get here: install them by hand")
	}
	apt := []string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=60"}
	if os.Geteuid() != 0 {
		if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
			return errors.New("apt-get wants root, and sudo a password")
		}
		apt = append([]string{"sudo", "-n"}, apt...)
	}
	var packages []string
	for _, n := range missing {
		if !slices.Contains(packages, n.apt) {
			packages = append(packages, n.apt)
		}
	}
	update := show(ctx, apt, "update")
	install := []string{"install", "--no-install-recommends"}
	if show(ctx, apt, append(install, packages...)...) == nil {
		return nil
	}
	failed := []error{update}
	for _, p := range packages { // one that is not to be had is no reason to go without the others
		if err := show(ctx, apt, append(install, p)...); err != nil {
			failed = append(failed, fmt.Errorf("apt-get install %s: %w", p, err))
		}
	}
	return errors.Join(failed...)
}

// show prints a command and runs it. Its output goes to standard error.
func show(ctx context.Context, command []string, args ...string) error {
	command = append(slices.Clone(command), args...)
	_, _ = fmt.Fprintln(os.Stderr, "==>", strings.Join(command, " "))
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
