// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// Process is a process that is looked at, as its number, its threads and its memory. It is for one goroutine at a
// time.
type Process struct {
	PID int
	// StartTime is when it was started, in clock ticks after boot. A number that
	// is used anew has another one.
	StartTime uint64
	// Comm is its name as of [Open], or as who has it open has read it since by [Process.Name].
	Comm string
	Arch frames.Arch

	tid    int // a live thread: PID, or another where the first has ended
	pidfd  int
	tasks  *procmem.TaskDir
	memory *procmem.Memory
}

// Open looks at the process with that number. The error is an [*Error] if there is no such process, or if it is one
// that cannot be looked at. Whether the kernel lets prywalk read its memory is not checked.
func Open(pid int) (*Process, error) {
	s, err := procFS.check(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, StartTime: s.Start, Comm: s.Name, tid: pid, pidfd: -1}
	if s.State == 'Z' {
		p.tid = procFS.liveThread(pid)
	}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		p.pidfd = fd
	}
	machine, err := procFS.machine(p.PID, p.tid)
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Arch = archOf(machine)
	p.memory = procmem.OpenMemory(p.tid)
	return p, nil
}

// archOf gives the architecture of a machine that supported accepts.
func archOf(machine uint16) frames.Arch {
	if machine == machARM64 {
		return frames.AArch64
	}
	return frames.X86_64
}

// Close lets go of the process.
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
	return errors.Join(errs...)
}

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

// Name reads its name anew; "?" if it has ended.
func (p *Process) Name() string { return procFS.comm(p.PID) }

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

// NextThread takes another live thread for MemoryTID, where that one has ended. False if there is no other.
func (p *Process) NextThread() bool {
	tid := procFS.liveThread(p.PID)
	if tid == 0 || tid == p.tid {
		return false
	}
	p.tid = tid
	p.memory.Reopen(tid)
	return true
}

// AfterExec is for a process that runs another program than before. Its memory is opened anew; the error says if
// the program is one that cannot be looked at, or one for another processor.
func (p *Process) AfterExec() error {
	p.memory.Reopen(p.tid)
	machine, err := procFS.machine(p.PID, p.tid)
	if err == nil && archOf(machine) != p.Arch {
		err = fmt.Errorf("process %d now runs a program for another processor", p.PID)
	}
	return err
}
