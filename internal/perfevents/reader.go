// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

var (
	// ErrDenied reports that this user may not sample all processors; what gives the right stands beside it.
	ErrDenied = errors.New("this user may not have the kernel sample all processors")
	// ErrUnsupported reports a kernel without perf events, or a filter that hides them.
	ErrUnsupported = errors.New("the kernel gives no perf events")
	// errNoRoom reports a ring that is larger than this user may have.
	errNoRoom = errors.New("no room for samples")
)

// Bounds of what is copied of a stack with each sample, in bytes. The kernel takes multiples of eight that fit a
// record of 16 bits of size, with all else (kernel/events/core.c, perf_sample_ustack_size). With [besideStack] and
// [ringRecords] either makes a ring of a power of two.
const (
	LeastStack = 8<<10 - besideStack
	MostStack  = 1<<16 - besideStack
)

// Remedy is what gives a user the right, for people.
const Remedy = "run as root, or with CAP_PERFMON, or: sudo sysctl kernel.perf_event_paranoid=0"

// Options say what to sample.
type Options struct {
	// Freq is the number of samples a second of each processor.
	Freq float64
	// Stack is how many bytes of stack are copied; 0: MostStack, or less where that would take too much memory.
	Stack int
	// NoKernel: leave the kernel's frames out. Samples are taken in the kernel all the same.
	NoKernel bool
	// Tasks: tell of births and ends. Programs: of names and of code that is mapped, too. Switches: of each switch
	// between threads.
	Tasks, Programs, Switches bool
}

// Reader samples all processors that are there. It belongs to one goroutine.
type Reader struct {
	opts  Options
	rings []*ring
	heads []uint64 // of the rings, for one drain
	rec   Record
	// What came so far: samples of anybody, and what was lost for want of room or made no sense.
	samples, lost, broken int64
	missed                missed
	throttled             int64
	target                func(pid int) bool // see [Reader.Targets]
	online                string
	list                  func() (string, error) // of processors, as the kernel has it; nil: [onlineCPUs]

	tasks   map[int][]int // of [OpenOwn] and [OpenKin]: the events of each thread; else nil
	kin     int           // of [OpenKin]: the bytes of a ring; else 0
	still   bool          // paused
	shorter int           // see [Reader.CopyShorter]
}

// Open begins to sample. The error is [ErrDenied] or [ErrUnsupported], with what is behind it.
func Open(o Options) (*Reader, error) {
	return openWithin(&Reader{opts: o})
}

// openWithin opens the rings with as much stack as there is memory for.
func openWithin(r *Reader) (*Reader, error) {
	if o := &r.opts; o.Stack != 0 {
		r.opts.Stack = min(o.Stack, MostStack) &^ 7
		return r, r.openAll()
	}
	for memory := mostRings; ; memory /= 2 {
		r.opts.Stack = stackWithin(runtime.NumCPU(), memory)
		err := r.openAll()
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, errNoRoom) || r.opts.Stack == LeastStack {
			return nil, err
		}
	}
}

// Period gives the time on a processor that each sample stands for, in nanoseconds.
func (r *Reader) Period() int64 { return int64(r.opts.period()) }

func (o *Options) period() uint64 { return uint64(1e9 / o.Freq) }

// Room gives for how many nanoseconds the samples of a processor find room, at least, if nobody reads them.
func (r *Reader) Room() int64 { return ringRecords * r.Period() }

// Stack gives how many bytes of stack are copied with each sample, at most.
func (r *Reader) Stack() int { return r.opts.Stack }

// Samples gives how many samples came, of anybody.
func (r *Reader) Samples() int64 { return r.samples }

// Want says of whose samples more is wanted than whose they are, and when: on a machine that is busy otherwise, most
// are of other programs. nil: of all.
func (r *Reader) Want(pid func(pid int) bool) { r.rec.want = pid }

// Lost gives how many records found no room.
func (r *Reader) Lost() int64 { return r.lost }

// Broken gives how often a record made no sense.
func (r *Reader) Broken() int64 { return r.broken }

// Throttled gives how often the kernel sampled less than it was asked to.
func (r *Reader) Throttled() int64 { return r.throttled }

// Drain tells take of what came since the last call, each processor's records in their order. What a record points to
// holds until take returns.
func (r *Reader) Drain(take func(*Record)) {
	for _, g := range r.rings {
		if !g.drain(&r.rec, g.head(), func(rec *Record) { r.count(g, rec, take) }) {
			r.broken++
		}
	}
}

// DrainTasksFirst is Drain, but tasks is told first of the births, ends, names and mappings of all processors. Then
// take is told of the rest. So a process's samples come after its birth, whatever processor it was born on.
func (r *Reader) DrainTasksFirst(tasks, take func(*Record)) {
	heads := r.heads[:0]
	for _, g := range r.rings {
		head := g.head()
		heads = append(heads, head)
		g.peek(&r.rec, head, tasks)
	}
	r.heads = heads
	for i, g := range r.rings {
		if !g.drain(&r.rec, heads[i], func(rec *Record) {
			if !rec.ofTask() {
				r.count(r.rings[i], rec, take)
			}
		}) {
			r.broken++
		}
	}
}

// ofTask reports whether a record is about a thread or process, and no sample.
func (r *Record) ofTask() bool {
	return r.Kind == Forked || r.Kind == Exited || r.Kind == Named || r.Kind == Mapped
}

func (r *Reader) count(g *ring, rec *Record, take func(*Record)) {
	switch rec.Kind {
	case Lost:
		r.lost += rec.Lost
		r.missed.lose(&g.share, rec.Lost)
		return
	case Throttled:
		r.throttled++
		return
	case Sampled:
		r.samples++
		g.share.sampled(r.target == nil || r.target(rec.PID))
		rec.Longest = r.longest(rec.Asked)
	}
	take(rec)
}

// Check opens events on processors that have come since, and lets go of those that have gone. It reports whether all
// processors are sampled. It is to be called now and then. What waits in the rings must have been drained.
func (r *Reader) Check() bool {
	if r.list == nil && r.sameProcessors() {
		return true
	}
	online, err := r.processors()
	if err != nil || online == r.online {
		return err == nil
	}
	tids, shorter := slices.Collect(maps.Keys(r.tasks)), r.shorter
	r.Close() // first: both would take twice the memory that may be locked
	if r.openAll() != nil {
		return false
	}
	r.CopyShorter(shorter) // or longer ones, if that is refused
	for _, tid := range tids {
		if err := r.Follow(tid); err != nil && !errors.Is(err, unix.ESRCH) {
			return false
		}
	}
	return true
}

// Pause leaves everybody unsampled until Resume.
func (r *Reader) Pause() { r.control(unix.PERF_EVENT_IOC_DISABLE) }

// Resume ends what Pause began. What came before it is dropped.
func (r *Reader) Resume() {
	r.Drain(func(*Record) {})
	r.control(unix.PERF_EVENT_IOC_ENABLE)
}

func (r *Reader) control(request uint) {
	r.still = request == unix.PERF_EVENT_IOC_DISABLE
	for _, g := range r.rings {
		_ = unix.IoctlSetInt(g.fd, request, 0) // the event is this process's
		if g.short >= 0 {
			_ = unix.IoctlSetInt(g.short, request, 0)
		}
	}
	for _, fds := range r.tasks {
		for _, fd := range fds {
			_ = unix.IoctlSetInt(fd, request, 0)
		}
	}
}

// Close ends the sampling.
func (r *Reader) Close() {
	for tid := range r.tasks {
		r.Unfollow(tid)
	}
	for _, g := range r.rings {
		g.close()
	}
	r.rings, r.online, r.shorter = nil, "", 0
}

// openAll opens an event for each processor, or none.
func (r *Reader) openAll() error {
	online, err := r.processors()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	attr, pid := r.opts.attr(), -1
	switch {
	case r.kin != 0:
		attr, pid = r.opts.kinHolder(), os.Getpid()
	case r.Own():
		attr, pid = r.opts.holder(), os.Getpid()
	}
	for _, cpu := range parseCPUs(online) {
		g, err := openRing(&attr, pid, cpu, r.ringOf())
		if errors.Is(err, unix.ENODEV) {
			continue // it has just gone
		}
		if err != nil {
			r.Close()
			return refusal(err)
		}
		r.rings = append(r.rings, g)
	}
	if len(r.rings) == 0 {
		return fmt.Errorf("%w: no processor is online in %q", ErrUnsupported, online)
	}
	r.online = online
	return nil
}

// besideStack is what a record takes besides the stack, at most, in bytes.
const besideStack = 2 << 10

// ringRecords is how many samples a ring has room for, at least: as many as come in several ticks.
const ringRecords = 32

// mostRings is how many bytes the rings of all processors take at most: 64 of them with the longest stacks. The kernel
// never swaps them out. With more than 512 processors it is 256 KiB each.
const mostRings = 128 << 20

// stackWithin gives how many bytes of stack can be copied, so that all rings take no more than some memory. A long copy
// takes no more time than the stack is deep; but its ring has room for all of it.
func stackWithin(processors, memory int) int {
	n := MostStack
	for n > LeastStack && ringSize(n)*processors > memory {
		n = (n+besideStack)/2 - besideStack
	}
	return n
}

// ringSize gives the bytes of a ring, a power of two.
func ringSize(stack int) int {
	return 1 << bits.Len(uint((stack+besideStack)*ringRecords-1))
}

// attr describes the event. A clock of frequency is given as a period, which does not waver.
func (o *Options) attr() unix.PerfEventAttr {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: o.period(),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_CALLCHAIN |
			unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Sample_regs_user: regMask, Sample_stack_user: uint32(o.Stack),
		Bits: unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitExcludeCallchainUser |
			unix.PerfBitExcludeIdle | unix.PerfBitExcludeHv | unix.PerfBitWatermark,
		Wakeup:  1 << 30, // nobody waits for it
		Clockid: unix.CLOCK_MONOTONIC,
	}
	a.Size = unix.PERF_ATTR_SIZE_VER5
	if o.NoKernel {
		a.Bits |= unix.PerfBitExcludeCallchainKernel
	}
	if o.Tasks || o.Programs {
		a.Bits |= unix.PerfBitTask
	}
	if o.Programs {
		a.Bits |= unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitMmap | unix.PerfBitMmap2
	}
	if o.Switches {
		a.Bits |= unix.PerfBitContextSwitch
	}
	return a
}

// refusal says what kind of refusal an error is.
func refusal(err error) error {
	kind := ErrUnsupported
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		kind = ErrDenied
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// processors gives the list of those that are there.
func (r *Reader) processors() (string, error) {
	if r.list != nil {
		return r.list()
	}
	return onlineCPUs()
}

// online is where the kernel lists the processors that are there, as 0-3,6.
const online = "/sys/devices/system/cpu/online"

// onlineCPUs gives that list.
func onlineCPUs() (string, error) {
	b, err := os.ReadFile(online)
	return strings.TrimSpace(string(b)), err
}

// sameProcessors reports whether the list is as it was, without a word to the Go scheduler, which would have the tracer
// give way. False if it is longer than a few ranges.
func (r *Reader) sameProcessors() bool {
	var buf [128]byte
	b, err := procmem.ReadSmall(online, buf[:])
	return err == nil && len(b) < len(buf) && string(bytes.TrimSpace(b)) == r.online
}

// mostCPUs bounds the numbers of processors (CONFIG_NR_CPUS is 8,192 at most).
const mostCPUs = 1 << 13

// parseCPUs reads such a list; what is none is passed over.
func parseCPUs(list string) []int {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		var from, to int
		if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n == 1 {
			to = from
		} else if n == 0 {
			continue
		}
		for cpu := max(from, 0); cpu <= min(to, mostCPUs); cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Usable reports whether a sample can be walked: it has registers of this machine's own kind.
func (r *Record) Usable() bool {
	return r.Whole && r.Regs.Arch != frames.ArchUnknown && r.Regs.SP() != 0
}
