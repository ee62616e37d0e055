// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"prywalk/benchmarks/bench/load"
)

// Options select a load.
type Options struct {
	Kind string // one of [Kinds]
	// Threads that work, and that sleep in a read that never returns.
	Running, Sleeping int
	Depth             int // frames below the work, for the kind Deep
}

// Kinds of work.
const (
	Wake       = "wake" // 1,000 times a second, for some µs of work
	Deep       = "deep"
	Locks      = "locks"      // contended mutexes
	Requests   = "requests"   // over a loopback connection
	Goroutines = "goroutines" // messages between goroutines that share the processors
	GoServer   = "goserver"   // a goroutine for each connection, and its clients
)

// Kinds returns the kinds of work.
func Kinds() []string { return []string{Wake, Deep, Locks, Requests, Goroutines, GoServer} }

type worker struct {
	n     atomic.Uint64
	waits sharedHistogram
	_     [64]byte
}

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
	fmt.Fprintln(out, load.Ready)
	return load.Answer(in, out, p.report)
}

func (p *program) start() error {
	switch p.Kind {
	case Goroutines:
		return p.startGoroutines()
	case GoServer:
		return p.startGoServer()
	}
	begin, ok := map[string]func(*worker) error{
		Wake: p.wake, Deep: p.deep, Locks: newLocks(p).work, Requests: p.requests,
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
	return load.Crowd(p.Sleeping)
}

func (p *program) report() load.Report {
	var r load.Report
	var h Histogram
	for i := range p.workers {
		r.Work += p.workers[i].n.Load()
		p.workers[i].waits.drain(&h)
	}
	r.At = load.Now()
	if h.n > 0 {
		r.Waits, _ = json.Marshal(&h)
	}
	return r
}

var sink atomic.Uint64
