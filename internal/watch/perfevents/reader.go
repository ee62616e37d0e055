// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
)

var (
	// ErrDenied means that the user may not sample all CPUs, or, of other Readers, threads; see [Remedy].
	ErrDenied = errors.New("this user may not have the kernel sample all processors")
	// ErrUnsupported means that the kernel has no perf events, or a filter refuses them.
	ErrUnsupported = errors.New("the kernel gives no perf events")
	errNoRoom      = errors.New("no room for samples")
)

// Bounds of the copied stack in bytes, multiples of 8 (kernel/events/core.c, perf_sample_ustack_size).
const (
	MinStack = 8<<10 - nonStackBytes
	MaxStack = 1<<16 - nonStackBytes
)

// Remedy states how a user gets the right.
const Remedy = OwnRemedy + ", or: sudo sysctl kernel.perf_event_paranoid=0"

// OwnRemedy gives the right to prywalk only.
const OwnRemedy = "run as root, or with CAP_PERFMON"

// ReaderOptions select what is sampled.
type ReaderOptions struct {
	Freq     float64 // samples/s on each CPU
	Stack    int     // bytes; 0 means MaxStack if memory permits
	Rings    int     // most locked bytes of all rings, if Stack is 0; each has 256 KiB at least; 0 means 128 MiB
	NoKernel bool    // omit kernel frames
	Programs bool    // records of creations and exits of threads, of names and of mapped code
}

// Reader reads the kernel's records: samples of all online CPUs ([Open]), of single threads ([OpenPerThread]) or of a
// command ([Reader.SampleCommand]). Not safe for concurrent use.
type Reader struct {
	opts          ReaderOptions
	rings         []*ring
	heads         []uint64 // for DrainTasksFirst
	rec           Record
	samples, lost int64
	throttled     int64
	online        string                 // CPUs, as the kernel lists them
	listCPUs      func() (string, error) // for tests

	threads map[int]sampledThread // nil means sampling by CPU, or of a command
	command command
	paused  bool

	freqSetAt    monotonic.Moment // time of the last SetFreq
	periodBefore time.Duration    // the period before it
	variedAt     monotonic.Moment // last change of the periods
}

// Open begins to sample. Errors: [ErrDenied] or [ErrUnsupported], with its cause.
func Open(o ReaderOptions) (*Reader, error) {
	return openWithin(&Reader{opts: o})
}

func openWithin(r *Reader) (*Reader, error) {
	if o := &r.opts; o.Stack != 0 {
		r.opts.Stack = min(o.Stack, MaxStack) &^ 7
		if err := r.openAll(); err != nil {
			return nil, err
		}
		return r, nil
	}
	online, _ := r.cpuList() // openAll returns the error
	for memory := cmp.Or(r.opts.Rings, maxRingBytes); ; memory /= 2 {
		r.opts.Stack = stackWithin(len(parseCPUs(online)), memory)
		err := r.openAll()
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, errNoRoom) || r.opts.Stack == MinStack {
			return nil, err
		}
	}
}

// Period returns the CPU time per sample.
func (r *Reader) Period() time.Duration { return r.opts.period() }

// Freq returns the samples/s on each CPU.
func (r *Reader) Freq() float64 { return r.opts.Freq }

// PeriodAt is [Reader.Period] of a thread at a moment. It knows only the last change.
func (r *Reader) PeriodAt(tid int, at monotonic.Moment) time.Duration {
	if thread, ok := r.threads[tid]; ok {
		if at < thread.changedAt {
			return thread.before
		}
		return thread.period
	}
	if r.ofCommand() {
		return r.command.period
	}
	if at < r.freqSetAt {
		return r.periodBefore
	}
	return r.Period()
}

// SetFreq sets the samples/s. It returns false if the kernel refuses, and for a command.
func (r *Reader) SetFreq(hz float64) bool {
	if r.ofCommand() {
		return false // PERF_EVENT_IOC_PERIOD does not change inherited events
	}
	before := r.opts
	r.opts.Freq = hz
	if !r.setPeriods() {
		r.opts = before
		_ = r.setPeriods()
		return false
	}
	r.periodBefore, r.freqSetAt = before.period(), monotonic.Moment(procmem.Now())
	return true
}

// A period is drawn every varyEvery, at most 1/varyShare from the nominal one. It costs half a sample per CPU.
const (
	varyEvery = time.Second
	varyShare = 8
)

// VaryPeriods draws new periods if it is time, so that samples do not keep step with a periodic program: the kernel's
// timer has a constant period (kernel/events/core.c, perf_swevent_init_hrtimer). Those of single threads stay as they
// were drawn: a change would lose the part of a period that has passed, and with it the count of samples in CPU time.
func (r *Reader) VaryPeriods(now monotonic.Moment) {
	switch {
	case r.ofCommand():
		r.command.varyPeriods(r.rings)
		return
	case r.PerThread() || now.Sub(r.variedAt) < varyEvery:
		return
	}
	_ = r.setPeriods() // an event that refuses keeps its period
	r.variedAt = now
}

func (r *Reader) setPeriods() bool {
	ok := true
	for _, g := range r.rings {
		if !r.PerThread() {
			ok = procmem.SetPeriod(g.fd, uint64(r.opts.drawnPeriod())) == nil && ok
		}
	}
	for tid := range r.threads {
		ok = r.SetWholePeriod(tid) && ok
	}
	return ok
}

func (o *ReaderOptions) period() time.Duration { return time.Duration(1e9 / o.Freq) }

func (o *ReaderOptions) drawnPeriod() time.Duration {
	nominal := o.period()
	return nominal - nominal/varyShare + time.Duration(rand.Uint64N(uint64(nominal/(varyShare/2)+1)))
}

// TimeToFull returns the least time until a ring is full.
func (r *Reader) TimeToFull() time.Duration {
	period := r.Period() - r.Period()/varyShare
	switch {
	case r.PerThread():
		period /= firstSamples
	case r.ofCommand():
		period = r.command.period / 2
	}
	return ringRecords * period
}

// Stack returns the most stack bytes copied.
func (r *Reader) Stack() int { return r.opts.Stack }

// Samples returns the number of samples.
func (r *Reader) Samples() int64 { return r.samples }

// ParseOnly selects the processes whose samples are parsed; nil means all.
func (r *Reader) ParseOnly(want func(pid int) bool) { r.rec.want = want }

// Lost returns the number of lost records; the rest of a ring after a malformed one counts as one.
func (r *Reader) Lost() int64 { return r.lost }

// Throttled returns how often the kernel throttled sampling.
func (r *Reader) Throttled() int64 { return r.throttled }

// Drain passes the records since the last call, in order per CPU.
func (r *Reader) Drain(take func(*Record)) {
	for _, g := range r.rings {
		if !g.drain(&r.rec, g.head(), func(rec *Record) { r.count(rec, take) }) {
			r.lost++
		}
	}
}

// DrainTasksFirst passes records about tasks of all CPUs to tasks, then the others to take.
func (r *Reader) DrainTasksFirst(tasks, take func(*Record)) {
	heads := r.heads[:0]
	for _, g := range r.rings {
		head := g.head()
		heads = append(heads, head)
		g.readTasks(&r.rec, head, tasks)
	}
	r.heads = heads
	for i, g := range r.rings {
		if !g.drain(&r.rec, heads[i], func(rec *Record) {
			if !rec.isTaskRecord() {
				r.count(rec, take)
			}
		}) {
			r.lost++
		}
	}
}

func (r *Record) isTaskRecord() bool {
	return r.Kind == Forked || r.Kind == Exited || r.Kind == CommSet || r.Kind == Mapped
}

func (r *Reader) count(rec *Record, take func(*Record)) {
	switch rec.Kind {
	case lost:
		r.lost += rec.Lost
		return
	case throttled:
		r.throttled++
		return
	case Sampled:
		r.samples++
	}
	take(rec)
}

// ReopenIfCPUsChanged reopens the rings after CPUs were added or removed, and reports whether all CPUs are sampled.
func (r *Reader) ReopenIfCPUsChanged() bool {
	online, err := r.cpuList()
	if err != nil || online == r.online {
		return err == nil
	}
	if r.ofCommand() {
		return false // new events would not be inherited by the threads that exist
	}
	tids := slices.Collect(maps.Keys(r.threads))
	r.Close() // both would take twice the locked memory
	if r.openAll() != nil {
		return false
	}
	for _, tid := range tids {
		if err := r.OpenThread(tid); err != nil && !errors.Is(err, unix.ESRCH) {
			return false
		}
	}
	return true
}

// Pause stops sampling until Resume.
func (r *Reader) Pause() { r.control(unix.PERF_EVENT_IOC_DISABLE) }

// Resume ends a pause and drops earlier records.
func (r *Reader) Resume() {
	r.Drain(func(*Record) {})
	r.control(unix.PERF_EVENT_IOC_ENABLE)
}

func (r *Reader) control(request uint) {
	r.paused = request == unix.PERF_EVENT_IOC_DISABLE
	for _, g := range r.rings {
		_ = unix.IoctlSetInt(g.fd, request, 0)
	}
	for _, thread := range r.threads {
		for _, fd := range thread.events {
			_ = unix.IoctlSetInt(fd, request, 0)
		}
	}
}

// Close ends the sampling.
func (r *Reader) Close() {
	for tid := range r.threads {
		r.CloseThread(tid)
	}
	for _, g := range r.rings {
		g.close()
	}
	r.rings, r.online = nil, ""
}

func (r *Reader) openAll() error {
	online, err := r.cpuList()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	attr, pid := r.opts.attr(), -1
	switch {
	case r.PerThread():
		attr, pid = r.opts.ringOwner(), os.Getpid()
	case r.ofCommand():
		attr, pid = r.command.attr(&r.opts), r.command.parent
	}
	for _, cpu := range parseCPUs(online) {
		g, err := openRing(&attr, pid, cpu, ringSize(r.opts.Stack))
		if errors.Is(err, unix.ENODEV) {
			continue
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

const nonStackBytes = 2 << 10 // bound of the rest of a sample's record, bytes

const ringRecords = 32 // least number of samples in a ring

const maxRingBytes = 128 << 20 // default bound of the locked bytes of all rings

// stackWithin returns the most stack bytes with which all rings fit into memory bytes.
func stackWithin(processors, memory int) int {
	n := MaxStack
	for n > MinStack && ringSize(n)*processors > memory {
		n = (n+nonStackBytes)/2 - nonStackBytes
	}
	return n
}

func ringSize(stack int) int {
	return 1 << bits.Len(uint((stack+nonStackBytes)*ringRecords-1))
}

// attr sets a period: the kernel would adjust a frequency.
func (o *ReaderOptions) attr() unix.PerfEventAttr {
	a := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: uint64(o.drawnPeriod()),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD |
			unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Sample_regs_user: regMask, Sample_stack_user: uint32(o.Stack),
		Bits: unix.PerfBitSampleIDAll | unix.PerfBitUseClockID |
			unix.PerfBitExcludeIdle | unix.PerfBitExcludeHv | unix.PerfBitWatermark |
			unix.PerfBitExcludeCallchainUser,
		Wakeup:  1 << 30,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	a.Size = unix.PERF_ATTR_SIZE_VER5
	if o.NoKernel {
		a.Bits |= unix.PerfBitExcludeCallchainKernel
	}
	if o.Programs {
		a.Bits |= unix.PerfBitTask | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitMmap | unix.PerfBitMmap2
	}
	return a
}

func refusal(err error) error {
	kind := ErrUnsupported
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		kind = ErrDenied
	}
	return fmt.Errorf("%w: %w", kind, err)
}

const onlineFile = "/sys/devices/system/cpu/online"

// cpuList lists the online CPUs as the kernel does. It reads outside of the Go scheduler.
func (r *Reader) cpuList() (string, error) {
	if r.listCPUs != nil {
		return r.listCPUs()
	}
	var buf [4 << 10]byte // a file of sysfs has at most a page
	list, err := procmem.ReadSmall(onlineFile, buf[:])
	if err != nil {
		list, err = os.ReadFile(onlineFile) // its error names the file
	}
	return strings.TrimSpace(string(list)), err
}

// maxCPUs is the most that CONFIG_NR_CPUS may be.
const maxCPUs = 1 << 13

func parseCPUs(list string) []int {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		var from, to int
		if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n == 1 {
			to = from
		} else if n == 0 {
			continue
		}
		for cpu := max(from, 0); cpu <= min(to, maxCPUs); cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// Usable reports whether the sample can be walked.
func (r *Record) Usable() bool {
	return r.HasRegs && r.Regs.Arch != frames.ArchUnknown && r.Regs.SP() != 0
}
