package target

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/procmem"
)

// Process is a process that is looked at. It is for one goroutine at a time.
type Process struct {
	PID int
	// StartTime is when it was started, in clock ticks after boot. A number that
	// is used anew has another one.
	StartTime uint64
	// Comm is its name as of the last Refresh that saw a change.
	Comm string
	Arch frames.Arch
	// JITFuncs gives the bounds of a function that was compiled at run time, at
	// run-time addresses; nil if nothing knows. Set it before the first walk.
	JITFuncs func(pc uint64) (start, end uint64, ok bool)

	cache *ImageCache
	own   bool // the cache is this process's alone
	space *frames.Space
	tid   int // a live thread: PID, or another where the first has ended
	pidfd int
	tasks *procmem.TaskDir

	text    []byte         // of the maps file
	code    []mapped       // executable mappings in order
	spans   []procmem.Span // all mappings in order
	memory  *procmem.Memory
	jit     *liveCode // code that the process writes itself
	jitCode *heuristics.Source
	jvm     javaVM
	files   *Files
	told    selfDescribed
	noLinks bool // map_files may not be followed
}

// mapped is an executable mapping and the module made for it.
type mapped struct {
	at  *Mapping
	mod *frames.Module
}

// Open looks at the process with that number. The error is an [*Error] if there is
// no such process, if it is one that cannot be looked at, or if the kernel denies
// it. Whether a debugger already traces it is not checked: its sleeping threads can
// be looked at all the same.
func Open(pid int) (*Process, error) {
	cache := NewImageCache(0)
	p, err := cache.Open(pid)
	if err != nil {
		return nil, errors.Join(err, cache.Close())
	}
	p.own = true
	return p, nil
}

// Open is [Open] for one of several processes that share their files' images.
func (c *ImageCache) Open(pid int) (*Process, error) {
	for try := 0; ; try++ {
		p, err := c.open(pid)
		// While a thread other than the first calls exec, the process has no files
		// under /proc for a moment, or its number is that of its ended first thread.
		looksGone := errors.Is(err, ErrNotFound) || errors.Is(err, ErrZombie)
		if !looksGone || try == openTries || unix.Kill(pid, 0) == unix.ESRCH {
			return p, err
		}
		time.Sleep(openPause)
	}
}

// How often, and after which pause, a process that seems to be gone is looked for again.
const (
	openTries = 10
	openPause = 2 * time.Millisecond
)

// open is Open once.
func (c *ImageCache) open(pid int) (*Process, error) {
	s, err := procFS.check(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, StartTime: s.Start, Comm: s.Name, cache: c, tid: pid, pidfd: -1}
	if s.State == 'Z' {
		p.tid = procFS.liveThread(pid)
	}
	p.files = &Files{PID: pid, tid: p.tid}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		p.pidfd = fd
	}
	if err := p.start(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// start finds the architecture and the first list of modules.
func (p *Process) start() error {
	machine, err := procFS.machine(p.PID, p.tid)
	if err != nil {
		return err
	}
	p.Arch = archOf(machine)
	p.space = frames.NewSpace(p.Arch)
	p.memory = procmem.OpenMemory(p.tid)
	p.jit = newLiveCode(p.tid, p.memory)
	p.jitCode = heuristics.New(heuristics.Options{Arch: p.Arch, Code: p.jit, Funcs: jitBounds{&p.jvm, &p.JITFuncs}, JIT: true})
	if _, err := p.Refresh(); err != nil {
		return err
	}
	return p.readable()
}

// archOf gives the architecture of a machine that supported accepts.
func archOf(machine uint16) frames.Arch {
	if machine == machARM64 {
		return frames.AArch64
	}
	return frames.X86_64
}

// readable tries to read a byte of the process's memory, which the kernel allows
// on the same terms as ptrace.
func (p *Process) readable() error {
	for _, c := range p.code {
		if c.at.Perm&PermRead == 0 || c.at.Withheld {
			continue
		}
		var b [1]byte
		if _, err := readMemory(p.memory, p.tid, c.at.Start, b[:]); denied(err) {
			return procFS.explain(p.PID, err)
		}
		return nil
	}
	return nil
}

func denied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, procmem.ErrDenied) || errors.Is(err, unix.ENOSYS)
}

// Close lets go of the process: all that it holds but the images of a shared cache.
func (p *Process) Close() error {
	var errs []error
	if p.pidfd >= 0 {
		errs = append(errs, unix.Close(p.pidfd))
		p.pidfd = -1
	}
	if p.memory != nil {
		p.memory.Close()
	}
	if p.tasks != nil {
		p.tasks.Close()
		p.tasks = nil
	}
	if p.own {
		errs = append(errs, p.cache.Close())
	}
	return errors.Join(errs...)
}

// Space gives the executable part of the address space, as of the last Refresh.
func (p *Process) Space() *frames.Space { return p.space }

// PidFD gives a descriptor that polls readable when the process has ended
// (pidfd_open(2)); −1 where the kernel has none (before Linux 5.3). It belongs to
// the Process.
func (p *Process) PidFD() int { return p.pidfd }

// Alive reports whether the process still runs; a zombie does not.
func (p *Process) Alive() bool {
	if p.pidfd >= 0 {
		return !procmem.Readable(p.pidfd)
	}
	s, err := procFS.status(p.PID)
	return err == nil && s.Start == p.StartTime && (s.State != 'Z' && s.State != 'X' || s.Threads > 1)
}

// Exe gives the path of the program, as the process's own mount namespace names it.
func (p *Process) Exe() (string, error) {
	path, err := os.Readlink(procFS.path(p.tid, "exe"))
	if err != nil {
		return "", procFS.explain(p.PID, err)
	}
	return path, nil
}

// Children gives the processes that it has started; see [Children].
func (p *Process) Children() []int { return procFS.children(p.PID) }

// Tree gives all its descendants, parents before their children.
func (p *Process) Tree() []int { return procFS.tree(p.PID) }

// Status reads its state anew.
func (p *Process) Status() (*Status, error) { return procFS.status(p.PID) }

// MemoryTID gives the thread by whose number the process's memory is to be read:
// PID, unless the first thread has ended.
func (p *Process) MemoryTID() int { return p.tid }

// Memory reads its memory. It is the same for as long as the Process is open.
func (p *Process) Memory() *procmem.Memory { return p.memory }
