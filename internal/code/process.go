// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// Process is a process that is looked at, with the code that it runs. It is for one goroutine at a time.
type Process struct {
	*process.Process
	// JITFuncs gives the bounds of a function that was compiled at run time, at
	// run-time addresses; nil if nothing knows. Set it before the first walk.
	JITFuncs FuncBounds

	cache *ImageCache
	own   bool // the cache is this process's alone
	space *frames.Space

	text     []byte         // of the maps file
	code     []mapped       // executable mappings in order
	spans    []procmem.Span // all mappings in order
	jit      *liveCode      // code that the process writes itself
	files    *Files
	runtimes *Runtimes
	noLinks  bool // map_files may not be followed
	over     *atomic.Bool
}

// mapped is an executable mapping and the module made for it.
type mapped struct {
	at  *Mapping
	mod *frames.Module
}

// Open looks at the process with that number. The error is a [*process.Error] if there is
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
		looksGone := errors.Is(err, refusal.Gone) || errors.Is(err, refusal.Zombie)
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
	of, err := process.Open(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{Process: of, cache: c, files: &Files{PID: pid, tid: of.MemoryTID()}, over: new(atomic.Bool)}
	if err := p.start(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// start makes the first list of modules.
func (p *Process) start() error {
	p.space = frames.NewSpace(p.Arch)
	p.jit = newLiveCode(p.MemoryTID(), p.Memory())
	p.runtimes = NewRuntimes(p.Arch, p.jit, &p.JITFuncs)
	if _, err := p.Refresh(); err != nil {
		return err
	}
	return p.readable()
}

// readable tries to read a byte of the process's memory, which the kernel allows
// on the same terms as ptrace.
func (p *Process) readable() error {
	for _, c := range p.code {
		if c.at.Perm&PermRead == 0 || c.at.Withheld {
			continue
		}
		var b [1]byte
		if _, err := readMemory(p.Memory(), p.MemoryTID(), c.at.Start, b[:]); process.IsDenied(err) {
			return process.Explain(p.PID, err)
		}
		return nil
	}
	return nil
}

// Close lets go of the process: all that it holds but the images of a shared cache. Its [Process.Space] is nil then.
func (p *Process) Close() error {
	err := p.Process.Close()
	p.release()
	if p.own {
		err = errors.Join(err, p.cache.Close())
	}
	return err
}

// release lets go of what only walks need, when the process is closed. A recording keeps the modules of every
// process that it has seen, for their names, and a rule cache alone takes some hundred kilobytes. What names need
// stays: the images, and the lists of code that describes itself.
func (p *Process) release() {
	count(p.code, -1)
	p.over.Store(true)
	p.space, p.runtimes, p.JITFuncs, p.jit = nil, nil, nil, nil
	p.text, p.code, p.spans = nil, nil, nil
}

// Space gives the executable part of the address space, as of the last Refresh.
func (p *Process) Space() *frames.Space { return p.space }

// CodeMappings gives the number of executable mappings, as of the last Refresh.
func (p *Process) CodeMappings() int { return len(p.code) }

// ProgramFile identifies the file that a process runs, by what it says of itself and by where it is.
type ProgramFile struct {
	Dev, Inode uint64
	BuildID    string
}

// Program gives the file that the process runs, as of the last Refresh; false if it is not known.
func (p *Process) Program() (f ProgramFile, ok bool) {
	main := p.Main()
	for i := range p.code {
		if m := &p.code[i]; main != nil && m.mod == main && m.at.Inode != 0 {
			return ProgramFile{m.at.Dev, m.at.Inode, main.BuildID}, true
		}
	}
	return ProgramFile{}, false
}

// Main gives the module of the program's own code, as of the last Refresh; nil if
// it is not known.
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
