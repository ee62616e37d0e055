// SPDX-License-Identifier: Apache-2.0

package core

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"

	"prywalk/frames"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/safeopen"
)

// Core is a process in a core file. Not safe for concurrent use.
type Core struct {
	PID           int
	Comm          string // at most 15 bytes
	Arch          frames.Arch
	Signal        int                   // the signal that ended or stopped the process, or 0
	JITFuncBounds loadedcode.FuncBounds // as in [loadedcode.Process]
	Sysroot       string                // directory with the files of the core's machine; "" means /

	opener     safeopen.Opener
	size       int64
	mem        *memory
	notes      *notes
	maps       []mapping
	files      []file // by number − 1
	loaded     int
	hasHeaders bool
	cache      *loadedcode.ImageCache
	runtimes   loadedcode.Runtimes
	space      *frames.Space
	warnings   []string
	missing    []string // not found
	unverified []string
}

// Open reads the core in r, which must stay usable, of size bytes. sysroot is [Core.Sysroot]. The error wraps an
// [*Error]; defects of a readable core are in [Core.Warnings].
func Open(r io.ReaderAt, size int64, sysroot string) (*Core, error) {
	f, err := elffile.Open(r, size)
	if err != nil {
		var head [8]byte
		n, _ := r.ReadAt(head[:min(int64(len(head)), max(size, 0))], 0)
		return nil, notCore(head[:n], err)
	}
	defer f.Release()
	if f.Type != elf.ET_CORE {
		return nil, &Error{"it is a program or library, not a core file", "give a core that the kernel or gcore has written",
			nil}
	}
	c := &Core{Arch: f.Arch(), Sysroot: sysroot, size: size, notes: readNotes(f), cache: loadedcode.NewImageCache(0)}
	if len(c.notes.threads) == 0 {
		return nil, errors.Join(c.noThreads(f), c.cache.Close())
	}
	c.PID, c.Comm, c.Signal = c.notes.pid, c.notes.comm, c.notes.signal
	if c.PID == 0 {
		c.PID = c.notes.threads[0].TID
	}
	var missing uint64
	if c.mem, missing = newMemory(r, f); missing > 0 {
		c.warn("the core is cut off: its last %d bytes are missing, and stacks that were there cannot be walked; "+
			"write it with ulimit -c unlimited and enough room on the disk", missing)
	}
	c.mem.undumped = c.readFiles
	c.addModules()
	return c, nil
}

func (c *Core) noThreads(f *elffile.File) error {
	for i := range f.Segments {
		if s := &f.Segments[i]; s.Type == elf.PT_NOTE && s.Off+s.FileSize > f.Size() {
			return &Error{"the core is cut off before its registers", "copy it again, or make room for a whole one", nil}
		}
	}
	return &Error{"the core holds no threads", "give a core that the kernel or gcore has written", nil}
}

// Threads returns the threads in the core's order, the one with the signal first; read-only.
func (c *Core) Threads() []Thread { return c.notes.threads }

// Size is the core file's size, in bytes.
func (c *Core) Size() int64 { return c.size }

// Space returns the executable part of the address space.
func (c *Core) Space() *frames.Space { return c.space }

// Memory returns the process's memory, from the core, else from files.
func (c *Core) Memory() frames.Memory { return c.mem }

// Warnings returns the core's defects and the files that do not fit.
func (c *Core) Warnings() []string {
	out := slices.Clone(c.warnings)
	if len(c.missing) > 0 {
		in := ""
		if c.Sysroot != "" {
			in = " in " + c.Sysroot
		}
		out = append(out, "not found: "+tabular.List(c.missing, maxListed)+in+
			"; give --sysroot DIR with the files of the machine that wrote the core")
	}
	if len(c.unverified) > 0 {
		out = append(out, "the core holds nothing to check these files by: "+tabular.List(c.unverified, maxListed)+
			"; if they are not those that ran, stacks are wrong: write cores with bit 4 of coredump_filter set")
	}
	return out
}

const (
	maxListed   = 4
	maxWarnings = 64
)

func (c *Core) warn(format string, args ...any) {
	if len(c.warnings) < maxWarnings {
		c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
	}
}

// Close closes the files. Images are invalid afterwards.
func (c *Core) Close() error {
	for i := range c.files {
		if img := c.files[i].img; img != nil && img.FromMemory {
			img.Close()
		}
	}
	return c.cache.Close()
}

// Error is why a file cannot be read as a core.
type Error struct {
	Cause string
	Next  string
	Err   error // read error, if any
}

// Error returns cause and remedy, without the file's name.
func (e *Error) Error() string { return e.Cause + "; " + e.Next }

// Unwrap returns the read error, such as [elffile.ErrNotELF].
func (e *Error) Unwrap() error { return e.Err }

var packed = []struct{ magic, tool string }{
	{"\x28\xb5\x2f\xfd", "zstd -d"}, {"\x1f\x8b", "gunzip"}, {"\xfd7zXZ", "unxz"},
	{"\x04\x22\x4d\x18", "lz4 -d"}, {"BZh", "bunzip2"},
}

func notCore(head []byte, err error) *Error {
	if len(head) == 0 {
		return &Error{"the file is empty", "the disk may have been full, or ulimit -c 0, when it was written", err}
	}
	for _, p := range packed {
		if len(head) >= len(p.magic) && string(head[:len(p.magic)]) == p.magic {
			return &Error{"the file is compressed", "unpack it with " + p.tool + " first", err}
		}
	}
	var format *elffile.FormatError
	switch {
	case errors.Is(err, elffile.ErrNotELF):
		return &Error{"it is not a core file (no ELF header)", "give a core that the kernel or gcore has written", err}
	case errors.Is(err, elffile.ErrClass32):
		return &Error{"it is the core of a 32-bit process", "only 64-bit x86-64 and arm64 programs are supported", err}
	case errors.Is(err, elffile.ErrMachine):
		return &Error{fmt.Sprintf("it is a file for another processor (%v)", err),
			"only 64-bit x86-64 and arm64 programs are supported", err}
	case errors.As(err, &format):
		return &Error{"the core is cut off or damaged within its headers (" + format.What + ")",
			"copy it again, or make room for a whole one", err}
	}
	return &Error{fmt.Sprintf("the core cannot be read (%v)", err), "check the file and the disk that it is on", err}
}
