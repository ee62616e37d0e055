// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Options say what to run.
type Options struct {
	// Kind is one of [Kinds].
	Kind string
	// Running threads work, Sleeping ones sleep in a read that never returns.
	Running, Sleeping int
	// Depth is the number of frames below the work, for the kind Deep.
	Depth int
}

// The kinds of work.
const (
	Busy       = "busy"       // computes all the time
	Wake       = "wake"       // wakes up 1,000 times a second, for some microseconds of work
	Deep       = "deep"       // computes below many frames
	Locks      = "locks"      // takes and releases mutexes that all want
	Requests   = "requests"   // asks a server over a loopback connection, and waits for the answer
	Goroutines = "goroutines" // passes messages between goroutines that share the processors
	GoServer   = "goserver"   // a server with a goroutine for each connection, and its clients
)

// Kinds lists the kinds of work.
func Kinds() []string { return []string{Busy, Wake, Deep, Locks, Requests, Goroutines, GoServer} }

// Report is what was done.
type Report struct {
	// Work is the number of pieces of work since the beginning.
	Work uint64 `json:"work"`
	// At is when they were counted, in nanoseconds of CLOCK_MONOTONIC.
	At int64 `json:"at"`
	// Waits has the lengths of waits since the last report, nil for work that waits for nothing.
	Waits *Histogram `json:"waits,omitempty"`
}

// Ready is the line that a load prints when all its threads are there. Where the work is done by
// others, their processes follow, separated by commas.
const Ready = "ready"

// worker is one thread's counts, on cache lines of its own.
type worker struct {
	n     atomic.Uint64
	waits sharedHistogram
	_     [64]byte
}

// program is a load that runs.
type program struct {
	Options
	ctx     context.Context
	workers []worker
}

// Run runs a load until in ends.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	if slices.Contains(Servers(), o.Kind) {
		return runServer(ctx, o, in, out)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{Options: o, ctx: ctx, workers: make([]worker, o.Running)}
	if err := p.start(); err != nil {
		return err
	}
	fmt.Fprintln(out, Ready)
	return p.answer(in, out)
}

// answer answers each line with a report, until there are no more.
func (p *program) answer(in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := answers.Encode(p.report()); err != nil {
			return err
		}
	}
	return nil
}

// start starts all threads.
func (p *program) start() error {
	switch p.Kind {
	case Goroutines:
		return p.startGoroutines()
	case GoServer:
		return p.startGoServer()
	}
	begin, ok := map[string]func(*worker) error{
		Busy: p.busy, Wake: p.wake, Deep: p.deep, Locks: newLocks(p).work, Requests: p.requests,
	}[p.Kind]
	if !ok {
		return fmt.Errorf("there is no load %q; choose from %q", p.Kind, Kinds())
	}
	runtime.GOMAXPROCS(p.Running + 1)
	for i := range p.workers {
		if err := begin(&p.workers[i]); err != nil {
			return err
		}
	}
	return p.crowd()
}

// report counts what was done.
func (p *program) report() Report {
	var r Report
	var h Histogram
	for i := range p.workers {
		r.Work += p.workers[i].n.Load()
		p.workers[i].waits.drain(&h)
	}
	r.At = now()
	if h.n > 0 {
		r.Waits = &h
	}
	return r
}

// now gives CLOCK_MONOTONIC in nanoseconds.
func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return ts.Nano()
}
