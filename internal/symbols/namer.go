package symbols

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"time"

	"prywalk/frames"
	"prywalk/internal/budget"
	"prywalk/internal/target"
)

// Namer gives names to addresses in the modules of live processes: by the tables
// of their files, by the perf maps of JIT compilers, and by the name of the mapping
// where there is neither. It is for one goroutine at a time.
type Namer struct {
	tables map[*target.Image]*Table
	maps   map[int]*jitMap
	open   func(string) (io.ReaderAt, int64, error) // nil: of live processes
	// mapFile opens a process's perf map; nil if it has none.
	mapFile func(pid int) (io.ReadCloser, int64)
	memory  *budget.Budget // nil: the process's
	// inSteps: perf maps are read step by step while their names are not needed.
	inSteps bool
	// between is called between steps where all of a map is read; nil: nobody waits.
	between func()
}

// NewNamer gives a namer that has read nothing yet.
func NewNamer() *Namer {
	return &Namer{tables: map[*target.Image]*Table{}, maps: map[int]*jitMap{}, mapFile: openPerfMap}
}

// NewCoreNamer gives a namer for a process that does not run here any more, or never
// did: open opens a file by its path as the process saw it. Perf maps are looked for
// only if perfMaps says that they are those of that process.
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

// Frames appends the functions at an address of a module of process pid, innermost
// inlined call first; addr is in the module's own terms and lies inside of the
// instruction. Nothing is appended where nothing is known.
func (n *Namer) Frames(m *frames.Module, pid int, addr uint64, out []Frame) []Frame {
	at, ok := m.Data.(*target.Mapping)
	if !ok {
		return out
	}
	if at.Image != nil {
		return n.table(at.Image, pid).Frames(addr, out)
	}
	if pm := n.perfMap(pid, true); pm != nil {
		if name, _, _, ok := pm.Lookup(addr + m.Bias); ok {
			f := Frame{Name: name}
			f.File, f.Line, _ = JSPosition(name)
			return append(out, f)
		}
	}
	return append(out, Frame{Name: m.Name})
}

// Table gives the table of an image; pid is a process that runs it, below whose
// root directory its debug files are looked for.
func (n *Namer) table(img *target.Image, pid int) *Table {
	if t := n.tables[img]; t != nil {
		return t
	}
	o := Options{File: img.ELF, Path: img.Path, Open: n.open}
	if n.open == nil {
		o.Open = opener(pid)
	}
	if g := img.GoTable(); g != nil {
		o.Go = GoLines(g)
	}
	t := New(o)
	n.tables[img] = t
	return t
}

// Refresh lets perf maps be read anew where they have grown, however short ago they
// were read.
func (n *Namer) Refresh() {
	for _, j := range n.maps {
		j.next = time.Time{}
	}
}

// JITFuncs gives a function that knows the bounds of the functions which a JIT
// compiler of process pid has made, at run-time addresses.
func (n *Namer) JITFuncs(pid int) func(pc uint64) (start, end uint64, ok bool) {
	return func(pc uint64) (start, end uint64, ok bool) {
		pm := n.perfMap(pid, !n.inSteps)
		if pm == nil {
			return 0, 0, false
		}
		_, start, end, ok = pm.Lookup(pc)
		return start, end, ok
	}
}

// Warnings gives what was found damaged in the files read so far.
func (n *Namer) Warnings() []error {
	var out []error
	for _, t := range n.tables {
		out = append(out, t.Warnings()...)
	}
	return out
}

// Close closes the debug files that were opened, and gives back the memory that was taken for perf maps.
func (n *Namer) Close() error {
	var errs []error
	for _, j := range n.maps {
		j.memory.Close()
	}
	for _, t := range n.tables {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// openPerfMap opens /tmp/perf-PID.map as the process sees it: below its root, by
// the number that it has in its own pid namespace.
func openPerfMap(pid int) (io.ReadCloser, int64) {
	inside := pid
	if st, err := target.ReadStatus("/proc", pid); err == nil && len(st.NSPids) > 0 {
		inside = st.NSPids[len(st.NSPids)-1]
	}
	for _, name := range []string{
		path.Join("/proc", strconv.Itoa(pid), "root/tmp", "perf-"+strconv.Itoa(inside)+".map"),
		path.Join("/tmp", "perf-"+strconv.Itoa(pid)+".map"),
	} {
		if f, size := openRegular(name); f != nil {
			return f, size
		}
	}
	return nil, 0
}

// sectionCloser reads a file from its beginning on.
type sectionCloser struct {
	*io.SectionReader
	c io.Closer // nil: nothing to close
}

// Close implements io.Closer.
func (s sectionCloser) Close() error {
	if s.c == nil {
		return nil
	}
	return s.c.Close()
}

// openRegular opens a regular file; anybody may have put something else there, and
// opening a FIFO would wait.
func openRegular(name string) (*os.File, int64) {
	st, err := os.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return nil, 0
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(st, now) {
		f.Close()
		return nil, 0
	}
	return f, st.Size()
}

// opener opens files below a process's root directory, else by their own path.
func opener(pid int) func(string) (io.ReaderAt, int64, error) {
	return func(name string) (io.ReaderAt, int64, error) {
		for _, full := range []string{path.Join("/proc", strconv.Itoa(pid), "root", name), name} {
			if st, err := os.Stat(full); err != nil || !st.Mode().IsRegular() {
				continue
			}
			f, err := os.Open(full)
			if err != nil {
				continue
			}
			if st, err := f.Stat(); err == nil {
				return f, st.Size(), nil
			}
			f.Close()
		}
		return nil, 0, os.ErrNotExist
	}
}
