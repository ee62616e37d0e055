// SPDX-License-Identifier: Apache-2.0

package process

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/host/safeopen"
)

// Check returns the state of a process that has user-space stacks. For the ID of another thread, a kernel thread, a
// zombie or a missing process the error is an [*Error]. Permission is not checked. root is proc's mount point.
func Check(root string, pid int) (*Status, error) { return procRoot(root).check(pid) }

func (p procRoot) check(pid int) (*Status, error) {
	if pid <= 0 {
		return nil, &Error{PID: pid, Kind: errs.Exited, Cause: "not a process number", Next: "give a number above 0"}
	}
	s, err := p.status(pid)
	if err != nil {
		return nil, p.hiddenOrGone(pid, err)
	}
	switch {
	case s.Tgid != pid:
		return nil, &Error{PID: pid, Kind: errs.NotAProcess,
			Cause: fmt.Sprintf("%d is a thread of process %d (%s)", pid, s.Tgid, p.comm(s.Tgid)),
			Next:  fmt.Sprintf("use -p %d", s.Tgid)}
	case s.KernelThread:
		return nil, kernelThread(pid)
	case (s.State == 'Z' || s.State == 'X') && p.liveThread(pid) == 0:
		return nil, &Error{PID: pid, Kind: errs.Zombie, Cause: "it has exited and waits for its parent " +
			strconv.Itoa(s.PPid) + " to reap it (zombie)", Next: "a zombie has no stack; check its parent"}
	}
	return s, nil
}

// hiddenOrGone distinguishes a hidden process (mount option hidepid) from a missing one.
func (p procRoot) hiddenOrGone(pid int, err error) error {
	if p != defaultProc || !errors.Is(err, errs.Exited) {
		return err
	}
	if kill := unix.Kill(pid, 0); kill == nil || kill == unix.EPERM {
		if _, again := p.status(pid); errors.Is(again, errs.Exited) {
			return &Error{PID: pid, Kind: errs.Denied, Cause: "/proc hides it (mount option hidepid)",
				Next: "run prywalk as the process's user or as root (sudo)", Err: err}
		}
	}
	return err
}

func (p procRoot) comm(pid int) string {
	text, err := os.ReadFile(p.path(pid, "comm"))
	if err != nil {
		return "?"
	}
	return strings.TrimSuffix(string(text), "\n")
}

func (p procRoot) liveThread(pid int) int {
	entries, err := os.ReadDir(p.path(pid, "task"))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := p.status(tid); err == nil && s.State != 'Z' && s.State != 'X' {
			return tid
		}
	}
	return 0
}

var archs = map[elf.Machine]frames.Arch{elf.EM_X86_64: frames.X86_64, elf.EM_AARCH64: frames.ARM64}

// arch returns that of a process's program. Errors: those of [Explain] for the file, and of [errs.Not64Bit].
func (p procRoot) arch(pid, tid int) (frames.Arch, error) {
	var o safeopen.Opener
	f, err := o.Open(safeopen.Request{Path: p.path(tid, "exe"), Kernel: true})
	if err != nil {
		return 0, p.explain(pid, err)
	}
	defer func() { _ = f.Close() }()
	var h [20]byte
	if _, err := f.ReadAt(h[:], 0); err != nil || string(h[:4]) != elf.ELFMAG {
		return 0, fmt.Errorf("process %d: its program is not an ELF file; is another loader at work?", pid)
	}
	m := elf.Machine(binary.LittleEndian.Uint16(h[18:]))
	return archs[m], checkSupported(pid, elf.Class(h[elf.EI_CLASS]), m)
}

func checkSupported(pid int, class elf.Class, machine elf.Machine) error {
	if class == elf.ELFCLASS64 && archs[machine] != frames.ArchUnknown {
		return nil
	}
	what := fmt.Sprintf("it is a program for another processor (ELF machine %d)", machine)
	switch {
	case class != elf.ELFCLASS64 && machine == elf.EM_X86_64:
		what = "it is an x32 program"
	case class != elf.ELFCLASS64:
		what = "it is a 32-bit program"
	}
	return &Error{PID: pid, Kind: errs.Not64Bit, Cause: what,
		Next: "only 64-bit x86-64 and arm64 programs are supported"}
}

// Below these limits the Go runtime crashes without an error.
const (
	minFiles        = 64      // one process with a few threads takes about 40
	minRuntimeFiles = 16      // without a process to sample
	minThreads      = 16      // prywalk has 8 to 12
	minSpace        = 2 << 30 // bytes; the Go runtime reserves about 1.2 GB
)

// CheckRuntime reports a lack of threads, descriptors or address space that would crash the Go runtime. Precondition:
// no goroutine was started.
func CheckRuntime() error {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) == nil && r.Cur < minSpace {
		return fmt.Errorf("the limit of address space is %d KB, and prywalk needs %d; raise it: ulimit -v %d",
			r.Cur>>10, minSpace>>10, minSpace>>10)
	}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < minThreads && limitedThreads() {
		return fmt.Errorf("the limit of processes and threads is %d, and prywalk needs %d; raise it: ulimit -u 1024",
			r.Cur, minThreads)
	}
	return checkFiles(minRuntimeFiles)
}

// limitedThreads reports whether RLIMIT_NPROC applies (kernel/fork.c, copy_process).
func limitedThreads() bool {
	if unix.Getuid() == 0 {
		return false
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return true
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE|1<<unix.CAP_SYS_ADMIN) == 0
}

// CheckFiles reports too low a limit of open files to sample a process.
func CheckFiles() error { return checkFiles(minFiles) }

func checkFiles(least uint64) error {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur >= least {
		return nil
	}
	return fmt.Errorf("the limit of open files is %d, and prywalk needs %d; raise it: ulimit -n 1024", r.Cur, minFiles)
}

func noFiles(pid int, err error) *Error {
	return &Error{PID: pid, Kind: errs.NoFiles, Cause: "too many open files in prywalk",
		Next: "raise its limit: ulimit -n 4096", Err: err}
}
