package main

import (
	"context"
	"time"

	"github.com/prometheus/procfs"

	"redrain/internal/testenv/testrun"
)

// machine watches how busy the machine is. Where there is no /proc it sees nothing.
type machine struct {
	proc procfs.FS
	has  bool
}

func newMachine() *machine {
	proc, err := procfs.NewDefaultFS()
	return &machine{proc: proc, has: err == nil}
}

// watch follows the load average until stop is called, which returns its peak.
func (m *machine) watch(ctx context.Context) (stop func() (peak float64)) {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan float64, 1)
	go func() {
		peak := m.load()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				result <- peak
				return
			case <-tick.C:
				peak = max(peak, m.load())
			}
		}
	}()
	return func() float64 { cancel(); return <-result }
}

// load is the load average of a minute.
func (m *machine) load() float64 {
	if !m.has {
		return 0
	}
	load, err := m.proc.LoadAvg()
	if err != nil {
		return 0
	}
	return load.Load1
}

// busy is the time that the processors have worked since the machine was started, in seconds of one processor.
func (m *machine) busy() float64 {
	if !m.has {
		return 0
	}
	stat, err := m.proc.Stat()
	if err != nil {
		return 0
	}
	c := stat.CPUTotal
	return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
}

// weigh prints how busy a test keeps the machine that has it for itself, in the unit of [testrun.Request].
func (m *machine) weigh(r testrun.Request, printf func(string, ...any)) (released func()) {
	began, before := time.Now(), m.busy()
	return func() {
		took := time.Since(began).Seconds()
		printf("load %5.1f for %6.1f s: %s\n", (m.busy()-before)/took*testrun.PerProcessor, took, r.Name)
	}
}
