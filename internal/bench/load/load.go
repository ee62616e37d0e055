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

// Busy is the name of the load: threads that compute all the time, among others that sleep.
const Busy = "busy"

// Options say what to run.
type Options struct {
	// Running threads work, Sleeping ones sleep in a read that never returns.
	Running, Sleeping int
}

// Report is what was done.
type Report struct {
	// Work is the number of pieces of work since the beginning.
	Work uint64 `json:"work"`
	// At is when they were counted, in nanoseconds of CLOCK_MONOTONIC.
	At int64 `json:"at"`
	// Waits has the lengths of waits since the last report, in the load's own form; absent for work that waits for
	// nothing.
	Waits json.RawMessage `json:"waits,omitempty"`
}

const (
	// Ready is the line that a load prints when all its threads are there. Where the work is done by
	// others, their processes follow, separated by commas.
	Ready = "ready"
	// Absent is the beginning of the line that is printed instead of Ready where a load needs what is not
	// installed; the reason follows.
	Absent = "absent:"
)

// worker is one thread's count, on cache lines of its own.
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

// Answer answers each line with a report, until there are no more.
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
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return ts.Nano()
}
