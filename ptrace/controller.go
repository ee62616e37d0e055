// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Options of a [Controller]. The zero value has sensible defaults.
type Options struct {
	// MaxPending is the number of looks that can be under way at once,
	// abandoned ones included; default 256.
	MaxPending int
	// SpinFor bounds how long a wait spins before it sleeps; default 40 µs.
	// Spinning halves the pause that the target sees.
	SpinFor time.Duration
	// ReadOnly: never write a register. Calls that a look breaks then give
	// EINTR to the program ([Stats.Broken]).
	ReadOnly bool
	// NoCollector: the caller sees to it that no garbage collection begins while a look is under way. It also sees to it
	// that GOMAXPROCS is two or more, as a goroutine of the controller must run while this one waits. A thread is then
	// seized without a word to the Go scheduler.
	NoCollector bool
	// KeepPriority: do not raise the scheduling priority.
	KeepPriority bool
	// Frugal: with NoCollector, waits sleep until a thread stops without a real-time priority, too. Short sleeps stop a
	// thread for less long, but one that stops late costs thousands of them.
	Frugal bool
}

// Stats counts what a controller did.
type Stats struct {
	// Begun looks, and of these Finished with registers taken.
	Begun, Finished uint64
	// Signals that came first and were passed on; Groups: group stops seen.
	Signals, Groups uint64
	// Restarted system calls, and those Broken: EINTR or EAGAIN was left visible where no
	// restart is sound or allowed. Told: those of which a supervisor was told twice ([Stop.Told]).
	Restarted, Broken, Told uint64
	// Stolen stops, that another thread's wait had consumed.
	Stolen uint64
	// Abandoned looks: given up before the thread stopped.
	Abandoned uint64
	// Lowered: how often the controller's thread lost its real-time priority because it did not sleep.
	Lowered uint64
}

// Controller looks at threads. All methods must be called on the OS thread on
// which it was made ([runtime.LockOSThread], or [Run]).
type Controller struct {
	opts   Options
	sched  string
	was    *unix.SchedAttr
	looks  []Look
	used   int // slots below this may be in use
	live   int // looks in use
	stats  Stats
	tid    int
	rescue *rescue
	// watchdog is that of a real-time priority; nil: there is none.
	watchdog *watchdog
	lost     bool // a tracee may go by a number that is not known
	leaves   bool // see Leave
	seized   bool // a thread was attached to: no filter of this process refuses that
	alarm    alarm
	wakeup   int64 // until then waits spin
	woken    int64 // when its last sleep ended
	rang     bool  // and a timer of this processor ended it: see ByTimer
	idle     int64 // when a wait last found no pending look stopped
	audit    int64 // when the pending looks are next checked one by one

	// What is read while a thread is stopped, decoded afterwards.
	own        tally
	allowed    allowance
	raw        rawRegs
	rawLen     int
	tls        uint64
	pacMask    uint64 // of code pointers; 0 until a first look, and where there is none
	stackAt    uint64
	stackN     int
	stackAsked int
	top, end   uint64 // where the stack ends, and its mapping, as far as that is known
	tailAt     uint64
	tailN      int
	deep       bool // the stack goes to Request.Deep
	scratch         // what is read of /proc
	schedN     int
	info       sigInfo
	last       Look // the look that was finished last
	reader     Reader
	parts      [maxParts]frames.Region
	vectors    vectors
}

// NewController makes a controller for the calling OS thread, to which the
// goroutine must be locked, and raises that thread's priority as far as it may.
// It also sets SA_NOCLDSTOP for SIGCHLD in this process. While this process is about to be stopped
// ([Leaving]) it waits.
func NewController(opts Options) *Controller {
	if opts.MaxPending <= 0 {
		opts.MaxPending = 256
	}
	if opts.SpinFor <= 0 {
		opts.SpinFor = 40 * time.Microsecond
	}
	c := &Controller{opts: opts, looks: make([]Look, opts.MaxPending), tid: unix.Gettid(),
		rescue: newRescue(opts.MaxPending)}
	c.enter()
	c.sched = "normal"
	if !opts.KeepPriority {
		c.raise()
	}
	quietChildStops()
	if (c.sched == "fifo" || opts.Frugal) && opts.NoCollector {
		c.alarm.open(c.tid)
	}
	go c.rescue.run(&c.alarm)
	return c
}

// Run makes a controller on an OS thread of its own, calls body with it, and
// lets everything go when body returns or panics. The OS thread ends with it, and
// the kernel then detaches what could not be detached before.
func Run(opts Options, body func(*Controller) error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is to end
		c := NewController(opts)
		defer c.Close()
		done <- runBody(c, body)
	}()
	return <-done
}

// runBody closes the controller before the result is passed on.
func runBody(c *Controller, body func(*Controller) error) error {
	defer c.Close()
	return body(c)
}

// Scheduling gives the priority that the controller got: "fifo" (real-time),
// "nice" (better than normal), or "normal".
func (c *Controller) Scheduling() string { return c.sched }

// ReadOnly reports whether it never writes a register (Options.ReadOnly).
func (c *Controller) ReadOnly() bool { return c.opts.ReadOnly }

// Stats gives the counts so far.
func (c *Controller) Stats() Stats {
	s := c.stats
	if c.watchdog != nil {
		s.Lowered = uint64(c.watchdog.times.Load())
	}
	return s
}

// Pending gives the number of looks that are begun and not finished, abandoned
// ones that have not stopped yet included.
func (c *Controller) Pending() int { return c.live }

// Woken gives the time at which this OS thread last woke up from a wait, on the
// clock of [Now]; 0 if it has not waited yet. Whoever ran on its processor then
// was put off it.
func (c *Controller) Woken() int64 { return c.woken }

// ByTimer reports whether this thread's last sleep was ended by its own timer, on the processor on which it still is.
// That interrupt is served there and then. The end of another thread's stop wakes it from afar, and so does a move.
// Whoever it puts off its processor then may go on for some microseconds first, mostly to the end of a system call.
func (c *Controller) ByTimer() bool { return c.rang }

// Awake tells that this thread is awake: what ended its last sleep says nothing of what comes from now on.
func (c *Controller) Awake() { c.rang = false }

// closeWait bounds how long Close waits for threads that have not stopped.
const closeWait = 50 * time.Millisecond

// Close detaches from all threads and restores the priority. Looks whose threads
// do not stop in time stay attached until the OS thread ends; the number of them
// is the result. It may be called more than once.
func (c *Controller) Close() int {
	c.Leave()
	for i := range c.looks[:c.used] {
		c.Cancel(&c.looks[i])
	}
	for end := procmem.Now() + int64(closeWait); (c.live > 0 || c.lost) && procmem.Now() < end; {
		if c.WaitAny(procmem.Now()+int64(time.Millisecond)) == nil {
			c.checkAll()
		}
	}
	c.rescue.close()
	c.alarm.close()
	c.watchdog.close()
	c.restorePriority()
	c.left()
	return c.live
}

// What restarts need of the files under /proc while a thread is stopped, read
// without a word to the Go scheduler.

// isOpen reports whether a descriptor of the thread, in its own table, is one of a kind, by how
// the text of its link under /proc begins. That text is the kernel's: no file system is asked.
//
//go:nosplit
func (c *Controller) isOpen(tid int, fd uint64, kind string) bool {
	if fd > math.MaxInt32 {
		return false
	}
	text := c.procLink(tid, fd)
	n := 0
	for n < len(kind) && n < len(text) && text[n] == kind[n] {
		n++
	}
	return n == len(kind)
}

// procPath writes "/proc/TID" and name, which may end in NUL, into buf, and gives the place
// behind it.
//
//go:nosplit
func procPath(tid int, name string, buf *[48]byte) int {
	return put(buf, putNumber(buf, put(buf, 0, "/proc/"), uint64(tid)), name)
}

// putNumber writes a decimal number at a place, and gives the place behind it.
//
//go:nosplit
func putNumber(buf *[48]byte, at int, v uint64) int {
	digits := 1
	for rest := v / 10; rest > 0; rest /= 10 {
		digits++
	}
	for i := at + digits - 1; i >= at; i-- {
		if i < len(buf) {
			buf[i] = byte('0' + v%10)
		}
		v /= 10
	}
	return min(at+digits, len(buf))
}

// put writes text at a place, and gives the place behind it.
//
//go:nosplit
func put(buf *[48]byte, at int, text string) int {
	for i := 0; i < len(text) && at < len(buf); i++ {
		buf[at] = text[i]
		at++
	}
	return at
}
