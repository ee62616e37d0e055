// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

// Process is an observed process with its code as of the last Refresh. Not safe for concurrent use, but for what
// [process.Process] permits.
type Process struct {
	*process.Process
	// JITFuncBounds returns bounds of functions made at run time, or is nil. It is set before the first walk.
	JITFuncBounds FuncBounds

	cache    *ImageCache
	ownCache bool
	space    *frames.Space

	addressSpace uint64 // last read ([procmem.Memory.Space])

	text     []byte
	code     []*Mapping       // ascending
	modules  []*frames.Module // of code; not part of Mapping, which recordings keep
	spans    []procmem.Span   // ascending
	jit      *liveCode
	files    *TrustedFiles
	runtimes Runtimes
	noLinks  bool
	closed   *atomic.Bool
}

// Open opens process pid. The error wraps a [*process.Error] if there is no such process, if it cannot be sampled, or
// if access is denied.
func Open(pid int) (*Process, error) {
	cache := NewImageCache(0)
	p, err := cache.Open(pid)
	if err != nil {
		return nil, errors.Join(err, cache.Close())
	}
	p.ownCache = true
	return p, nil
}

// Open is [Open] for processes that share images.
func (c *ImageCache) Open(pid int) (*Process, error) {
	for try := 0; ; try++ {
		p, err := c.open(pid)
		// During exec by another thread /proc has no files, or the id is the ended first thread's.
		seemsGone := errors.Is(err, errs.Exited) || errors.Is(err, errs.Zombie)
		if !seemsGone || try == openTries || unix.Kill(pid, 0) == unix.ESRCH {
			return p, err
		}
		time.Sleep(openPause)
	}
}

const (
	openTries = 10
	openPause = 2 * time.Millisecond
)

func (c *ImageCache) open(pid int) (*Process, error) {
	opened, err := process.Open(pid)
	if err != nil {
		return nil, err
	}
	files := &TrustedFiles{PID: pid, tid: opened.MemoryTID()}
	p := &Process{Process: opened, cache: c, files: files, closed: new(atomic.Bool)}
	if err := p.start(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Process) start() error {
	p.space = frames.NewSpace(p.Arch)
	p.jit = &liveCode{p: p, pages: map[uint64][]byte{}}
	p.runtimes.Init(p.Arch, p.jit, &p.JITFuncBounds)
	if _, err := p.Refresh(); err != nil {
		return err
	}
	for _, m := range p.code { // a byte is read, as ptrace's access check can deny it
		if m.Perm&PermRead == 0 || m.Unresponsive {
			continue
		}
		var b [1]byte
		if _, err := p.ReadMem(m.Start, b[:]); process.IsDenied(err) {
			return process.Explain(p.PID, err)
		}
		return nil
	}
	return nil
}

// Close releases the process. Space is nil, and Runtimes has none afterwards.
func (p *Process) Close() error {
	err := p.Process.Close()
	p.closeAllButNames()
	if p.ownCache {
		err = errors.Join(err, p.cache.Close())
	}
	return err
}

func (p *Process) closeAllButNames() {
	countUsers(p.code, -1)
	p.closed.Store(true)
	p.space, p.runtimes, p.JITFuncBounds, p.jit = nil, Runtimes{}, nil, nil
	p.text, p.code, p.modules, p.spans = nil, nil, nil, nil
}

// Space returns the executable part of the address space.
func (p *Process) Space() *frames.Space { return p.space }

// Runtimes returns the process's runtimes.
func (p *Process) Runtimes() *Runtimes { return &p.runtimes }

// CodeMappings counts the executable mappings.
func (p *Process) CodeMappings() int { return len(p.code) }

// ProgramFile identifies the file that a process runs.
type ProgramFile struct {
	Dev, Inode uint64
	BuildID    string
}

// Program returns false if the file is unknown.
func (p *Process) Program() (f ProgramFile, ok bool) {
	main := p.Main()
	if main == nil || MappingOf(main).Inode == 0 {
		return ProgramFile{}, false
	}
	return ProgramFile{MappingOf(main).Dev, MappingOf(main).Inode, main.BuildID}, true
}

// Main returns the program's own module; nil if unknown.
func (p *Process) Main() *frames.Module {
	exe, err := p.Exe()
	if err != nil || p.space == nil {
		return nil
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	for _, m := range p.space.Modules() {
		if m.Name == exe {
			return m
		}
	}
	return nil
}
