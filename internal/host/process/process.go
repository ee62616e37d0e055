// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/host/procmem"
)

// Process is an observed process. Not safe for concurrent use, but for PID, StartTime, Alive and Memory.
type Process struct {
	PID       int
	StartTime uint64 // clock ticks after boot
	Comm      string // at [Open], or as set by the caller
	Arch      frames.Arch

	tid    int // a live thread: PID, or another if the first has ended
	pidfd  int
	tasks  *procmem.TaskDir
	memory *procmem.Memory
}

// Open opens process pid. Errors: those of [Check], of [Explain] for its program's file, and of [errs.Not64Bit].
// Access to memory is not checked.
func Open(pid int) (*Process, error) {
	s, err := defaultProc.check(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, StartTime: s.Start, Comm: s.Name, tid: pid, pidfd: -1}
	if s.State == 'Z' {
		p.tid = defaultProc.liveThread(pid)
	}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		p.pidfd = fd
	}
	if p.Arch, err = defaultProc.arch(p.PID, p.tid); err != nil {
		p.Close()
		return nil, err
	}
	p.memory = procmem.OpenMemory(p.tid)
	return p, nil
}

// Close releases the process.
func (p *Process) Close() (err error) {
	if p.pidfd >= 0 {
		err = unix.Close(p.pidfd)
		p.pidfd = -1
	}
	if p.memory != nil {
		p.memory.Close()
	}
	if p.tasks != nil {
		p.tasks.Close()
		p.tasks = nil
	}
	return err
}

// PidFD returns a descriptor that polls readable after the process's end (pidfd_open(2)); −1 before Linux 5.3, or if it
// could not be opened.
func (p *Process) PidFD() int { return p.pidfd }

// Alive reports whether the process lives; a zombie does not. Without descriptors to read that, it is true.
func (p *Process) Alive() bool {
	if p.pidfd >= 0 {
		return !procmem.Readable(p.pidfd)
	}
	s, err := defaultProc.status(p.PID)
	if errs.Of(err) == errs.NoFiles {
		return true
	}
	return err == nil && s.Start == p.StartTime && (s.State != 'Z' && s.State != 'X' || s.Threads > 1)
}

// Exe returns the program's path in the process's mount namespace.
func (p *Process) Exe() (string, error) {
	path, err := os.Readlink(defaultProc.path(p.tid, "exe"))
	if err != nil {
		return "", defaultProc.explain(p.PID, err)
	}
	return path, nil
}

// Name reads the current name, as LoadedProgram or else the kernel's; "?" if the process has ended.
func (p *Process) Name() string { return cmp.Or(p.LoadedProgram(), defaultProc.comm(p.PID)) }

// LoadedProgram reads the name of the program that the dynamic loader was asked to run; "" if it runs by itself.
func (p *Process) LoadedProgram() string {
	exe, err := os.Readlink(defaultProc.path(p.tid, "exe"))
	if err != nil || !isLoader(path.Base(exe)) {
		return ""
	}
	line, _ := os.ReadFile(defaultProc.path(p.tid, "cmdline"))
	program := LoadedProgram(path.Base(exe), strings.Split(string(line), "\x00"))
	return program[strings.LastIndexByte(program, '/')+1:]
}

func isLoader(exe string) bool {
	return exe == "ld.so" || strings.HasPrefix(exe, "ld-") && strings.Contains(exe, ".so")
}

// LoadedProgram returns the program that the dynamic loader exe was asked to run (ld.so(8)), or "".
func LoadedProgram(exe string, args []string) string {
	if !isLoader(exe) {
		return ""
	}
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "--list", "--verify", "--inhibit-cache":
		case "--library-path", "--inhibit-rpath", "--audit", "--preload", "--argv0", "--glibc-hwcaps-prepend",
			"--glibc-hwcaps-mask":
			i++
		default:
			return args[i]
		}
	}
	return ""
}

// MemoryTID is the thread id for reads of memory: PID, unless the first thread has ended.
func (p *Process) MemoryTID() int { return p.tid }

// Memory is the same while the Process is open.
func (p *Process) Memory() *procmem.Memory { return p.memory }

// NextThread chooses another live thread for MemoryTID; false if there is none.
func (p *Process) NextThread() bool {
	tid := defaultProc.liveThread(p.PID)
	if tid == 0 || tid == p.tid {
		return false
	}
	p.tid = tid
	p.memory.Reopen(tid)
	return true
}

// AdoptProgram makes the first thread that of MemoryTID after an exec. The error reports a program that cannot be
// sampled, or of another architecture.
func (p *Process) AdoptProgram() error {
	p.tid = p.PID
	arch, err := defaultProc.arch(p.PID, p.tid)
	if err == nil && arch != p.Arch {
		err = fmt.Errorf("process %d now runs a program for another processor", p.PID)
	}
	return err
}
