// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Busy is the load of computing and sleeping threads.
const Busy = "busy"

// Options say what to run.
type Options struct {
	// Running threads compute, Sleeping ones sleep in a read.
	Running, Sleeping int
}

// Report is what was done.
type Report struct {
	// Work is the number of pieces of work since the beginning.
	Work uint64 `json:"work"`
	// At is when they were counted, CLOCK_MONOTONIC, nanoseconds.
	At int64 `json:"at"`
	// Waits has the lengths of waits since the last report, in the load's own form; absent without waits.
	Waits json.RawMessage `json:"waits,omitempty"`
}

const (
	// Ready is printed when all threads are there, followed by the working processes, separated by commas, if others.
	Ready = "ready"
	// Absent is printed instead of Ready if something is not installed; the reason follows.
	Absent = "absent:"
)

// on cache lines of its own
type worker struct {
	n atomic.Uint64
	_ [120]byte
}

// Run runs the load until in ends.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runtime.GOMAXPROCS(o.Running + 1)
	workers := make([]worker, o.Running)
	for i := range workers {
		go func() {
			runtime.LockOSThread()
			Compute(ctx, &workers[i].n)
		}()
	}
	if err := Crowd(o.Sleeping); err != nil {
		return err
	}
	fmt.Fprintln(out, Ready)
	return Answer(in, out, func() Report {
		r := Report{At: Now()}
		for i := range workers {
			r.Work += workers[i].n.Load()
		}
		return r
	})
}

// Answer answers each line with a report.
func Answer(in io.Reader, out io.Writer, report func() Report) error {
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := answers.Encode(report()); err != nil {
			return err
		}
	}
	return nil
}

// Now gives CLOCK_MONOTONIC in nanoseconds.
func Now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}
