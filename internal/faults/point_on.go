//go:build faults

package faults

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// The point at which the process dies. It is read once at the start, because Point runs on hot paths.
var (
	fatalName, fatalPassing = parse(os.Getenv("REDRAIN_FAULT_AT"))
	passings                atomic.Int64
)

// Point kills the process, as kill -9 would, if REDRAIN_FAULT_AT names this point and this passing of it. Nothing
// deferred runs, nothing is flushed, no socket is closed politely.
func Point(name string) {
	if name != fatalName || passings.Add(1) != fatalPassing {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic("faults: cannot kill the own process: " + err.Error())
	}
	select {} // the signal may arrive later: never pass the point
}

// parse splits "name" or "name:N". It panics on a bad number, because otherwise the process of a wrong test would never
// die.
func parse(at string) (name string, passing int64) {
	name, number, numbered := strings.Cut(at, ":")
	if !numbered {
		return name, 1
	}
	passing, err := strconv.ParseInt(number, 10, 64)
	if err != nil || passing < 1 {
		panic("faults: REDRAIN_FAULT_AT=" + at + ": want name or name:N with N from 1")
	}
	return name, passing
}
