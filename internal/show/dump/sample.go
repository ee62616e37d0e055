// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/process"
	"prywalk/internal/host/selfhang"
	"prywalk/internal/show/dump/stacks"
)

// Options select how a process is sampled, and what its dump has.
type Options struct {
	// MaxDepth limits the frames of a stack. A negative number means no limit, 0 [frames.DefaultMaxDepth] and no frames of
	// tasks.
	MaxDepth int
	// ReadOnly forbids writing registers.
	ReadOnly bool
	// Atomic stops all threads until all are copied.
	Atomic bool
	// Native makes texts show the native frames that run managed ones.
	Native bool
	// Goroutines adds the stacks of goroutines without a thread.
	Goroutines bool
	// NoTasks leaves out tasks without a thread, except for goroutines.
	NoTasks bool
	// Awaits adds the suspended functions of JavaScript, for which the heap is searched.
	Awaits bool
	// Chains makes [ExamineLocks] follow what threads wait for.
	Chains         bool
	goroutineLocks bool
	others         []int // processes that may hold locks in shared memory
	// waitRetried, for tests, is called after each retry of a wait, with the run count of its sample.
	waitRetried func(tid int, runs uint64, again bool)
	// Names is for one call at a time; nil means that each call makes its own. After [ErrHung] it may still be in use.
	Names *symbols.Namer
	// MaxPause, if positive, bounds the expected length of a stop: less of a running thread's stack is copied.
	MaxPause time.Duration
	// Prywalk is the version in JSON.
	Prywalk string
}

func (o *Options) account(pid int) *filememory.Account {
	return filememory.Process().AccountOfWhole(fmt.Sprintf("stacks of process %d", pid))
}

// ErrHung means that a read does not return. The caller's process must exit: threads may be stopped until then.
var ErrHung = selfhang.Err

// Sample samples all threads of a process once. Errors: of listing the threads; a [*process.Error] of [errs.Exited]
// if all have ended before; [ErrHung] with the samples so far.
func Sample(t *loadedcode.Process, o Options) (*stacks.Process, error) {
	origin := o.origin()
	raw, err := sampleAll(t, o)
	if err != nil && !errors.Is(err, ErrHung) {
		return nil, err
	}
	if err == nil && raw.ended() {
		return nil, &process.Error{PID: t.PID, Kind: errs.Exited, Cause: "it ended before its threads were read",
			Next: "if it was started again, dump the new process"}
	}
	d := &describer{target: t, options: o, err: err,
		process: stacks.Process{Origin: origin, PID: t.PID, Start: t.StartTime, Name: t.Comm, Threads: []stacks.Thread{},
			Frozen: cgroup.Root("/").Frozen(t.PID), Failed: raw.failed, Pause: raw.pause, Native: o.Native,
			Budget: o.account(t.PID)}}
	d.publish()
	hung := selfhang.Watched(func() { d.describe(raw) })
	got := d.published.Load()
	p, err := new(got.process), cmp.Or(got.err, hung)
	p.Threads = slices.Clone(p.Threads)
	stacks.ClearAwaitedIdleness(p)
	p.SortThreads()
	return p, err
}

func (o *Options) origin() stacks.Origin {
	host, _ := os.Hostname()
	return stacks.Origin{Time: time.Now(), Host: host, Prywalk: o.Prywalk}
}
