// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols/perfmap"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/safeopen"
)

// Namer symbolizes addresses in modules of live processes. Not safe for concurrent use.
type Namer struct {
	tables  map[*loadedcode.Image]*Table
	byPID   map[int]*processFiles
	open    func(path string) (*safeopen.File, error) // of a core's files; nil means that processes are live
	mapFile func(pid int) perfmap.File                // nil means none
	memory  *filememory.Budget                        // nil means prywalk's own
	inSteps bool
	yield   func()
}

type processFiles struct {
	trusted loadedcode.TrustedFiles
	perfMap *perfmap.Reader
	ended   bool // at the last [Namer.DropUnused]
}

// NewNamer returns a namer of live processes.
func NewNamer() *Namer {
	n := &Namer{tables: map[*loadedcode.Image]*Table{}, byPID: map[int]*processFiles{}}
	n.mapFile = func(pid int) perfmap.File { return mapOf(n.filesOf(pid).trusted.PerfMap()) }
	return n
}

// NewCoreNamer makes a namer for a core's process. open opens files by path; perfMaps means that it opens the perf map.
func NewCoreNamer(open func(path string) (*safeopen.File, error), perfMaps bool) *Namer {
	n := NewNamer()
	n.open = open
	n.mapFile = func(pid int) perfmap.File {
		if !perfMaps {
			return nil
		}
		return mapOf(open("/tmp/perf-" + strconv.Itoa(pid) + ".map"))
	}
	return n
}

// Frames appends the calls at addr in process pid's module, innermost inlined first, by the file's table, perf map,
// or the mapping's name in brackets. addr is a module address within the instruction.
func (n *Namer) Frames(m *frames.Module, pid int, addr uint64, out []Frame) []Frame {
	mapping := loadedcode.MappingOf(m)
	if mapping == nil {
		return out
	}
	if mapping.Image != nil {
		return n.table(mapping.Image, pid).Frames(addr, out)
	}
	if pm := n.perfMap(pid, true); pm != nil {
		if name, _, _, ok := pm.Lookup(addr + m.Bias); ok {
			return append(out, Frame{Name: name})
		}
	}
	return append(out, Frame{Name: unnamedcode.Bracketed(m.Name)})
}

func (n *Namer) table(img *loadedcode.Image, pid int) *Table {
	if t := n.tables[img]; t != nil {
		return t
	}
	open := n.open
	if open == nil {
		open = n.filesOf(pid).trusted.Debug
	}
	t := New(Sources{File: img.ELF, Path: img.Path, Open: opener(open), Language: img.Table()})
	n.tables[img] = t
	return t
}

// Refresh permits reading perf maps again, however recently read.
func (n *Namer) Refresh() {
	for _, f := range n.byPID {
		f.perfMap.Expire()
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

// Close closes the debug files and frees the perf maps.
func (n *Namer) Close() error {
	var errs []error
	for _, f := range n.byPID {
		f.perfMap.Close()
	}
	for _, t := range n.tables {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

func (n *Namer) filesOf(pid int) *processFiles {
	f := n.byPID[pid]
	if f == nil {
		memory := n.memory.Account("the perf map of process " + strconv.Itoa(pid))
		f = &processFiles{trusted: loadedcode.TrustedFiles{PID: pid}, perfMap: perfmap.NewReader(memory)}
		n.byPID[pid] = f
	}
	return f
}

func mapOf(f *safeopen.File, err error) perfmap.File {
	if err != nil {
		return nil
	}
	return f
}

func opener(open func(path string) (*safeopen.File, error)) elffile.Opener {
	return func(path string) (io.ReaderAt, int64, error) {
		f, err := open(path)
		if err != nil {
			return nil, 0, err
		}
		return f, f.Size(), nil
	}
}

// ReadPerfMapsInSteps makes function bounds use perf maps read in steps; names need whole ones.
func (n *Namer) ReadPerfMapsInSteps() { n.inSteps = true }

// SetYield sets a function to call while a perf map is read whole, or nil.
func (n *Namer) SetYield(f func()) { n.yield = f }

// perfMap returns a process's perf map, or nil. whole means that it must be complete.
func (n *Namer) perfMap(pid int, whole bool) *perfmap.Map {
	return n.filesOf(pid).perfMap.Map(func() perfmap.File { return n.mapFile(pid) }, whole, n.yield)
}

// NamesFinal reports whether a module's file is unused, or its process is closed.
func (n *Namer) NamesFinal(m *frames.Module) bool {
	mapping := loadedcode.MappingOf(m)
	if mapping == nil {
		return true
	}
	if mapping.Image != nil {
		return mapping.Image.Unused()
	}
	return mapping.ProcessClosed()
}

// DropUnused drops the tables of unused files, and the perf maps of processes that had ended at the last call.
func (n *Namer) DropUnused() {
	for img := range n.tables {
		if img.Unused() {
			n.Forget(img)
		}
	}
	for pid, f := range n.byPID {
		before := f.ended
		if f.ended = unix.Kill(pid, 0) == unix.ESRCH; before && f.ended {
			f.perfMap.Close()
			delete(n.byPID, pid)
		}
	}
}

// Forget drops the tables of a file.
func (n *Namer) Forget(img *loadedcode.Image) {
	if t := n.tables[img]; t != nil {
		_ = t.Close() // only read
		delete(n.tables, img)
	}
}

// Limits in bytes: nested templates grow exponentially.
const (
	maxMangled    = 16 << 10
	demangledBits = 15
)

func displayName(system string) (name string, demangled bool) {
	base, plt := strings.CutSuffix(system, "@plt")
	base, cold := cutCloneSuffix(cutVersion(base))
	name = base
	if isMangled(base) && len(base) <= maxMangled {
		name = demangleSafely(base)
		demangled = name != base
	}
	if plt {
		name += "@plt"
	}
	return name + cold, demangled
}

func cutVersion(name string) string {
	if i := strings.IndexByte(name, '@'); i > 0 && name[i:] != "@plt" {
		return name[:i]
	}
	return name
}

func demangleSafely(name string) (out string) {
	defer func() {
		if recover() != nil || out == "" {
			out = name
		}
	}()
	return demangle.Filter(name, demangle.NoParams, demangle.MaxLength(demangledBits))
}

func isMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___Z")
}

var cloneSuffixes = [...]string{".part", ".constprop", ".isra", ".lto_priv", ".llvm", ".cold"}

// cutCloneSuffix removes the suffixes of copies; cold is ".cold" if that was one.
func cutCloneSuffix(name string) (base, cold string) {
	for {
		s := strings.TrimRight(name, "0123456789")
		if len(s) < len(name) && strings.HasSuffix(s, ".") {
			s = s[:len(s)-1]
		} else {
			s = name
		}
		cut := false
		for _, c := range cloneSuffixes {
			if b, ok := strings.CutSuffix(s, c); ok && b != "" {
				name, cut = b, true
				if c == ".cold" {
					cold = c
				}
			}
		}
		if !cut {
			return name, cold
		}
	}
}

// Frame is a function at an address. System is Name if that is not mangled.
type Frame = sample.Frame
