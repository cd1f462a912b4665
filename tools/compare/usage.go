//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// process is a process whose use of the machine is measured.
type process struct {
	name string
	pid  int
}

// The names of the processes in a reading.
const (
	ofServer    = "server"
	ofSettler   = "settler"
	ofRedis     = "redis"
	ofGenerator = "generator"
	ofNATS      = "nats"
	ofDatabase  = "database"
)

// self is this process, in which the players are.
func self() process { return process{ofGenerator, os.Getpid()} }

// rss is the memory of the process in RAM, in bytes.
func (p process) rss() (uint64, error) {
	proc, err := procfs.NewProc(p.pid)
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", p.name, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", p.name, err)
	}
	return status.VmRSS, nil
}

// reading is the usage of processes up to a time.
type reading struct {
	at  time.Time
	cpu map[string]float64 // process → processor seconds
}

func read(processes []process) (reading, error) {
	r := reading{at: time.Now(), cpu: map[string]float64{}}
	for _, p := range processes {
		proc, err := procfs.NewProc(p.pid)
		if err != nil {
			return r, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		stat, err := proc.Stat()
		if err != nil {
			return r, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		r.cpu[p.name] += stat.CPUTime()
	}
	return r, nil
}

// usage is the difference between two readings of processes.
type usage struct {
	took time.Duration
	cpu  map[string]float64 // process → processor seconds
}

func (r reading) since(before reading) usage {
	u := usage{took: r.at.Sub(before.at), cpu: map[string]float64{}}
	for name, now := range r.cpu {
		u.cpu[name] = now - before.cpu[name]
	}
	return u
}

// add adds the usage at another time.
func (u *usage) add(other usage) {
	if u.cpu == nil {
		u.cpu = map[string]float64{}
	}
	u.took += other.took
	for name, seconds := range other.cpu {
		u.cpu[name] += seconds
	}
}

// without subtracts the usage that the same processes have at rest in the same time.
func (u *usage) without(other usage) {
	for name, seconds := range other.cpu {
		u.cpu[name] = max(u.cpu[name]-seconds*u.took.Seconds()/other.took.Seconds(), 0)
	}
}

// micros is the processor time of the named processes for each of count things, in µs.
func (u usage) micros(count int64, names ...string) float64 {
	var sum float64
	for _, name := range names {
		sum += u.cpu[name]
	}
	return sum * 1e6 / float64(count)
}

// String lists the processes, in the order of their names.
func (u usage) String() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(u.cpu)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %.2f", name, u.cpu[name])
	}
	return b.String()
}
