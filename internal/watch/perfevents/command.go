// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// # Samples of a command and its descendants
//
// The thread that starts a command has one event for each CPU. Each new process and thread inherits them (inherit),
// with rings and all, so that processes are sampled that end before they are found:
//
//	prywalk's thread: event for CPU 0 ──► ring        its period is drawn again at each reading
//	    └─ command: event for CPU 0 ──────►│          its period is as drawn last before the thread was created
//	           └─ child: …                 │
//
// The kernel fixes what is inherited. Each thread begins with a whole period: with one and the same period, threads
// that live for less would never be sampled, and others at fixed ages.

// Bounds of a command's samples. A new thread costs 3 to 5 µs for each CPU (kernel/events/core.c, inherit_event). The
// rate of a thread cannot be lowered, so it stays within the default limit of what targets lose.
const (
	maxCommandCPUs = 16
	maxCommandFreq = 800 // samples/s, the mean over threads
	drawnAtOnce    = 8   // CPUs
)

type command struct {
	parent   int           // thread that starts it; 0 means none
	period   time.Duration // mean
	nextRing int           // whose period is drawn next
}

// SampleCommand samples all that a thread of this process, which sleeps, creates from now on, and their descendants, in
// place of single threads. The Reader is paused. It returns false if the rate or the number of CPUs is too great, or
// the kernel refuses: then single threads are sampled. Preconditions: PerThread; no thread is open.
func (r *Reader) SampleCommand(parent int) bool {
	if r.opts.Freq > maxCommandFreq || len(r.rings) > maxCommandCPUs {
		return false
	}
	threads := r.threads
	r.Close() // both would take twice the locked memory
	r.threads, r.command = nil, command{parent: parent, period: max(r.Period()/firstSamples, 1e9/maxCommandFreq)}
	ok := r.openAll() == nil
	if !ok {
		r.threads, r.command = threads, command{}
		_ = r.openAll() // OpenThread finds that there are no rings
	}
	r.Pause()
	return ok
}

// UserOnly reports whether samples are of user space only.
func (r *Reader) UserOnly() bool { return r.PerThread() || r.ofCommand() }

func (r *Reader) ofCommand() bool { return r.command.parent != 0 }

func (c *command) attr(o *ReaderOptions) unix.PerfEventAttr {
	a := o.userOnly()
	a.Bits |= unix.PerfBitInherit
	a.Sample = c.drawnPeriod()
	return a
}

// drawnPeriod is half to double of the mean, its logarithm uniform: then, from an age of the longest period on, each
// moment of a thread's life has the same expected weight (Σ over k of the periods t/k at age t).
func (c *command) drawnPeriod() uint64 {
	return uint64(float64(c.period) * math.Exp2(2*rand.Float64()-1))
}

func (c *command) varyPeriods(rings []*ring) {
	for range min(len(rings), drawnAtOnce) {
		c.nextRing = (c.nextRing + 1) % len(rings)
		_ = procmem.SetPeriod(rings[c.nextRing].fd, c.drawnPeriod()) // else new threads have the one before
	}
}

// PeriodOf returns the CPU time that a sample stands for.
func (r *Reader) PeriodOf(sample *Record) time.Duration {
	if r.ofCommand() {
		return sample.Period // the parent's own event, which is changed, takes no samples
	}
	return r.PeriodAt(sample.TID, sample.Time)
}
