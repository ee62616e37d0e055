package census

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

var (
	// ErrUnsupported reports that the kernel does not have what is needed. What is missing stands
	// in the error that wraps it.
	ErrUnsupported = errors.New("this kernel cannot count threads by BPF")
	// ErrDenied reports that the user may not load BPF programs.
	ErrDenied = errors.New("BPF programs may be loaded by root, or with CAP_BPF and CAP_PERFMON, only")
	// ErrTooMany reports that the process has more than MaxThreads threads.
	ErrTooMany = errors.New("the process has too many threads for a census")
)

// Record is what one thread's scheduler counts were at the census: those of
// [procmem.SchedStat].
type Record struct {
	procmem.SchedStat
	TID int
}

// Sleep is where one thread slept at the census: off its processor, not queued for one, and asleep.
type Sleep struct {
	// Call, with the registers, is what [procmem.ThreadFiles.Syscall] shows of it. It is asleep in that as long as it
	// has not arrived on a processor since, by the count of its Record.
	Call procmem.SyscallInfo
	// Interruptible: the kernel calls that S (proc_pid_stat(5)), and all else otherwise.
	Interruptible bool
	// Processor is the one on which it ran last.
	Processor int
	// LastRun is what [procmem.ThreadFiles.LastRun] shows of it, in nanoseconds.
	LastRun int64
	// Identity is what no other thread of the same number has had, or will have, since the machine was started.
	Identity uint64
}

// Census takes censuses. Not safe for concurrent use.
type Census struct {
	loaded
	n      int
	asleep bool // it tells where threads sleep
	stacks *Stacks
}

// New loads the program. It takes some tens of milliseconds: the kernel's types are
// read. The error is [ErrUnsupported] or [ErrDenied], with what is behind it.
func New() (*Census, error) {
	if link, err := os.Readlink("/proc/self/ns/pid"); err != nil || link != initPIDNamespace {
		return nil, fmt.Errorf("%w: process numbers are those of a container, and the kernel would take them for its own",
			ErrUnsupported)
	}
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, refused(err)
	}
	c := &Census{loaded: loaded{name: "census"}}
	if err := c.load(types); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.asleep {
		c.stacks, _ = newStacks(types) // what cannot be read so is read in another way
	}
	return c, nil
}

// initPIDNamespace names the outermost pid namespace (PROC_PID_INIT_INO,
// include/linux/proc_ns.h).
const initPIDNamespace = "pid:[4026531836]"

// load makes the table and the program.
func (c *Census) load(types *btf.Spec) error {
	if err := c.makeTable(headBytes+MaxThreads*recordBytes, unix.PROT_READ); err != nil {
		return err
	}
	c.asleep = runtime.GOARCH == "amd64" // by its registers
	err := c.loadProgram(types)
	if err != nil && c.asleep { // an older kernel, or one with other fields
		c.asleep = false
		err = c.loadProgram(types)
	}
	return err
}

// loadProgram makes the program.
func (c *Census) loadProgram(types *btf.Spec) error {
	a := assembler{types: types}
	return c.makeProgram(&a, a.program(c.table.FD(), c.asleep))
}

// refused classifies what the kernel said.
func refused(err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EPERM) {
		//nolint:errorlint // callers tell it from a process that may not be looked at
		return fmt.Errorf("%w (%v)", ErrDenied, err)
	}
	return fmt.Errorf("%w: %w", ErrUnsupported, err)
}

// Take counts the threads of a process. Len and At give the result, until the next
// call. A thread that starts or ends meanwhile may be in it or not. Errors:
// [refusal.Gone], [ErrTooMany]. It does not allocate.
func (c *Census) Take(pid int) error {
	c.n = 0
	if err := c.run.Run(uint64(pid)); err != nil {
		return err
	}
	switch n := binary.NativeEndian.Uint64(c.mem); {
	case n == 0:
		return refusal.Gone
	case n >= MaxThreads:
		return ErrTooMany
	default:
		c.n = int(n)
	}
	return nil
}

// Len gives the number of threads at the last census.
func (c *Census) Len() int { return c.n }

// At gives one of them, in the kernel's order: that of their birth.
func (c *Census) At(i int) Record {
	b := c.mem[headBytes+i*recordBytes:][:recordBytes]
	return Record{
		SchedStat: procmem.SchedStat{
			CPU:      binary.NativeEndian.Uint64(b[atCPU:]),
			RunQueue: binary.NativeEndian.Uint64(b[atRunQueue:]),
			Runs:     binary.NativeEndian.Uint64(b[atRuns:]),
		},
		TID: int(binary.NativeEndian.Uint32(b[atTID:])),
	}
}

// Stacks gives what reads the stacks of those that sleep, nil where the kernel does not let it.
func (c *Census) Stacks() *Stacks { return c.stacks }

// TellsSleeps reports whether censuses tell where threads sleep: on x86-64, where the kernel lets the program see it.
func (c *Census) TellsSleeps() bool { return c.asleep }

// Asleep gives where a thread sleeps; false if that is not known, as of one that is on a processor or queued for one.
func (c *Census) Asleep(i int, s *Sleep) bool {
	b := c.mem[headBytes+i*recordBytes:][:recordBytes]
	state := binary.NativeEndian.Uint32(b[atState:])
	if !c.asleep || binary.NativeEndian.Uint32(b[atOff:]) == 0 || state == 0 {
		return false
	}
	s.Interruptible = state&reported == interruptible
	s.Processor = int(binary.NativeEndian.Uint32(b[atProcessor:]))
	s.LastRun = int64(binary.NativeEndian.Uint64(b[atLastRun:]))
	s.Identity = binary.NativeEndian.Uint64(b[atIdentity:])
	s.Call = procmem.SyscallInfo{
		Nr: int64(int32(binary.NativeEndian.Uint32(b[atCall:]))), //nolint:gosec // as the kernel takes it, −1 for none
		SP: binary.NativeEndian.Uint64(b[atSP:]), PC: binary.NativeEndian.Uint64(b[atPC:]),
	}
	for i := range s.Call.Args {
		s.Call.Args[i] = binary.NativeEndian.Uint64(b[atArgs+8*i:])
	}
	return true
}

// The kernel's states of a task (include/linux/sched.h): TASK_REPORT, which is what others see, and TASK_INTERRUPTIBLE.
const (
	reported      = 0x7f
	interruptible = 1
)

// Close lets go of the programs and their memory.
func (c *Census) Close() error {
	errs := []error{c.close()}
	if c.stacks != nil {
		errs = append(errs, c.stacks.close())
	}
	return errors.Join(errs...)
}
