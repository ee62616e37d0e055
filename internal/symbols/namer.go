// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/budget"
	"prywalk/internal/loadedcode"
	"prywalk/internal/runtimes"
	"prywalk/internal/runtimes/perfmap"
	"prywalk/internal/safeopen"
	"prywalk/internal/unnamedcode"
)

// Namer symbolizes addresses in modules of live processes. Not safe for concurrent use.
type Namer struct {
	tables map[*loadedcode.Image]*Table
	maps   map[int]*perfmap.Reader
	files  map[int]*loadedcode.Files
	ended  map[int]bool                             // processes that had ended at the last [Namer.DropUnused]
	open   func(string) (io.ReaderAt, int64, error) // opens debug files of a core; nil: of live processes
	// mapFile returns nil for a process without perf map.
	mapFile func(pid int) (io.ReadCloser, int64)
	memory  *budget.Budget // nil: prywalk's
	// inSteps: function bounds use perf maps that are read in steps.
	inSteps bool
	// yield is called while a map is read whole; nil: none.
	yield func()
}

// NewNamer returns a namer of live processes.
func NewNamer() *Namer {
	n := &Namer{
		tables: map[*loadedcode.Image]*Table{}, maps: map[int]*perfmap.Reader{}, files: map[int]*loadedcode.Files{},
	}
	n.mapFile = n.openPerfMap
	return n
}

// NewCoreNamer makes a namer for a core's process. open opens files by path; perfMaps: also its perf map.
func NewCoreNamer(open func(string) (io.ReaderAt, int64, error), perfMaps bool) *Namer {
	n := NewNamer()
	n.open = open
	n.mapFile = func(pid int) (io.ReadCloser, int64) {
		if !perfMaps {
			return nil, 0
		}
		r, size, err := open("/tmp/perf-" + strconv.Itoa(pid) + ".map")
		if err != nil {
			return nil, 0
		}
		c, _ := r.(io.Closer)
		return sectionCloser{io.NewSectionReader(r, 0, size), c}, size
	}
	return n
}

// Frames appends the calls at addr in process pid's module, innermost inlined first, by the file's table, perf map, or
// the mapping's name in brackets. addr is a module address within the instruction.
func (n *Namer) Frames(m *frames.Module, pid int, addr uint64, out []Frame) []Frame {
	at := loadedcode.MappingOf(m)
	if at == nil {
		return out
	}
	if at.Image != nil {
		return n.table(at.Image, pid).Frames(addr, out)
	}
	if pm := n.perfMap(pid, true); pm != nil {
		if name, _, _, ok := pm.Lookup(addr + m.Bias); ok {
			f := Frame{Name: name}
			f.File, f.Line = runtimes.PerfMapPosition(name)
			return append(out, f)
		}
	}
	if at.Names != nil {
		if system, ok := at.Names.Name(addr + m.Bias); ok {
			name, _ := displayName(system)
			return append(out, Frame{Name: name, System: system})
		}
	}
	return append(out, Frame{Name: unnamedcode.Bracketed(m.Name)})
}

// table returns an image's table; debug files are searched for below the root directory of pid.
func (n *Namer) table(img *loadedcode.Image, pid int) *Table {
	if t := n.tables[img]; t != nil {
		return t
	}
	o := Options{File: img.ELF, Path: img.Path, Open: n.open, Language: img.Table()}
	if n.open == nil {
		o.Open = n.openDebug(pid)
	}
	t := New(o)
	n.tables[img] = t
	return t
}

// Refresh permits reading perf maps again, however recently read.
func (n *Namer) Refresh() {
	for _, j := range n.maps {
		j.Expire()
	}
}

// JITFuncBounds returns the bounds of functions compiled by a process, at run-time addresses.
func (n *Namer) JITFuncBounds(pid int) func(pc uint64) (start, end uint64, ok bool) {
	return func(pc uint64) (start, end uint64, ok bool) {
		pm := n.perfMap(pid, !n.inSteps)
		if pm == nil {
			return 0, 0, false
		}
		_, start, end, ok = pm.Lookup(pc)
		return start, end, ok
	}
}

// Warnings lists damaged files among those read.
func (n *Namer) Warnings() []error {
	var out []error
	for _, t := range n.tables {
		out = append(out, t.Warnings()...)
	}
	return out
}

// Close closes the debug files and frees the perf maps.
func (n *Namer) Close() error {
	var errs []error
	for _, j := range n.maps {
		j.Close()
	}
	for _, t := range n.tables {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

func (n *Namer) filesOf(pid int) *loadedcode.Files {
	f := n.files[pid]
	if f == nil {
		f = &loadedcode.Files{PID: pid}
		n.files[pid] = f
	}
	return f
}

func (n *Namer) openPerfMap(pid int) (io.ReadCloser, int64) {
	f, err := n.filesOf(pid).PerfMap()
	if err != nil {
		return nil, 0
	}
	return mapReader{io.NewSectionReader(f, 0, f.Size()), f}, f.Size()
}

type mapReader struct {
	section *io.SectionReader
	f       *safeopen.File
}

// Read implements io.Reader.
func (m mapReader) Read(b []byte) (int, error) { return m.section.Read(b) }

// Seek implements io.Seeker, with unix.SEEK_DATA.
func (m mapReader) Seek(off int64, whence int) (int64, error) {
	if whence == unix.SEEK_DATA {
		return m.f.NextData(off)
	}
	return m.section.Seek(off, whence)
}

// Stat describes the file.
func (m mapReader) Stat() (os.FileInfo, error) { return m.f.Stat() }

// Close implements io.Closer.
func (m mapReader) Close() error { return m.f.Close() }

func (n *Namer) openDebug(pid int) func(string) (io.ReaderAt, int64, error) {
	return func(name string) (io.ReaderAt, int64, error) {
		f, err := n.filesOf(pid).Debug(name)
		if err != nil {
			return nil, 0, err
		}
		return f, f.Size(), nil
	}
}

type sectionCloser struct {
	*io.SectionReader
	c io.Closer // may be nil
}

// Close implements io.Closer.
func (s sectionCloser) Close() error {
	if s.c == nil {
		return nil
	}
	return s.c.Close()
}
