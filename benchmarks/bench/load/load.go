// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Busy is the load of computing and sleeping threads.
const Busy = "busy"

// Options are the numbers of threads.
type Options struct {
	Running, Sleeping int
}

// Report is the work done so far.
type Report struct {
	Work uint64 `json:"work"`
	At   int64  `json:"at"` // CLOCK_MONOTONIC ns
	// Waits has the lengths of waits since the last report, in the load's own form; absent without waits.
	Waits json.RawMessage `json:"waits,omitempty"`
}

const (
	// Ready is printed once all threads run, followed by the pids of the working processes, if these are others.
	Ready = "ready"
	// Absent is printed instead, with the reason, if something is not installed.
	Absent = "absent:"
)

type worker struct {
	n atomic.Uint64
	_ [120]byte // a cache line of its own
}

const asked = "busy-load"

// Command runs the load in a process of this program's file, whose main function calls [Asked] first.
func Command(ctx context.Context, o Options) (*exec.Cmd, error) {
	self, err := os.Executable()
	return exec.CommandContext(ctx, self, asked, strconv.Itoa(o.Running), strconv.Itoa(o.Sleeping)), err
}

// Asked runs the load, and returns true, in a process that Command began.
func Asked() (bool, error) {
	if len(os.Args) != 4 || os.Args[1] != asked {
		return false, nil
	}
	running, _ := strconv.Atoi(os.Args[2])
	sleeping, _ := strconv.Atoi(os.Args[3])
	return true, Run(context.Background(), Options{running, sleeping}, os.Stdin, os.Stdout)
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

// Now returns CLOCK_MONOTONIC, ns.
func Now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}
