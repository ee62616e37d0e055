// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"cmp"
	"slices"
	"sort"

	"prywalk/internal/code/elffile"
	"prywalk/internal/host/filememory"
)

// Sections are a file's .debug_* sections, uncompressed; any may be missing. They are kept.
type Sections struct {
	Info, Line, Str, LineStr *elffile.Window

	Abbrev, StrOffsets, Addr []byte
	Ranges, Rnglists         []byte
	Memory                   *filememory.Account // nil means no bound
}

// Data is the debug information of one file. Not safe for concurrent use.
type Data struct {
	s       Sections
	alt     *Data
	steps   int64
	reserve int64 // bytes taken from the account and not yet used
	units   []*unit
	index   []unitRange // by address
	ready   bool
	specs   []spec
	abbrevs map[uint64]abbrevTable // by offset
	lines   map[uint64]*lineTable
	names   map[uint64]*Func
	// compared counts ranges of index that were compared with an address.
	compared int64
}

// Func is a function in debug information.
type Func struct {
	// Name is DW_AT_name.
	Name string
	// Linkage is DW_AT_linkage_name or "".
	Linkage string
	// Line is DW_AT_decl_line, 0 if unknown.
	Line int
}

// Call is a function at an address.
type Call struct {
	// Func is nil if only the line is known (assembly).
	Func *Func
	// File is absolute if the compilation directory is known, or "".
	File string
	// Line is 0 if unknown.
	Line int
	// Inlined means that the next Call is the function that it was inlined into.
	Inlined bool
}

type unitRange struct {
	lo, hi uint64
	max    uint64
	unit   *unit
}

func sortRanges(list []unitRange) {
	slices.SortStableFunc(list, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	var reach uint64
	for i := range list {
		reach = max(reach, list[i].hi)
		list[i].max = reach
	}
}

const stepsFloor = 1 << 18

// New keeps s; alt is the supplementary file's data (.gnu_debugaltlink, DWARF 5 §7.3.6), or nil.
func New(s Sections, alt *Data) *Data {
	d := &Data{s: s, alt: alt, abbrevs: make(map[uint64]abbrevTable), lines: make(map[uint64]*lineTable),
		names: make(map[uint64]*Func)}
	total := min(s.Info.Size()+s.Line.Size()+s.Str.Size(), 1<<50)
	for _, b := range [][]byte{s.Abbrev, s.StrOffsets, s.Addr, s.Ranges, s.Rnglists} {
		total += uint64(len(b))
	}
	d.steps = stepsFloor + 2*int64(total)
	return d
}

func (d *Data) spendSteps(n int) bool {
	d.steps -= int64(n)
	return d.steps > 0
}

const reserveStep = 64 << 10 // bytes

func (d *Data) takeMemory(n int) bool {
	if d.reserve -= int64(n); d.reserve >= 0 {
		return true
	}
	more := max(reserveStep, -d.reserve)
	if d.s.Memory.Take(more, "debug information") != nil {
		d.reserve, d.steps = 0, 0
		return false
	}
	d.reserve += more
	return true
}

// Memory in bytes; list elements count twice.
const (
	unitCost   = 400
	rangeCost  = 2 * 32
	abbrevCost = 2 * 64
	specCost   = 16
	rowCost    = 2 * 16
	seqCost    = 2 * 32
	fileCost   = 2 * 48
	dirCost    = 2 * 24
	scopeCost  = 2 * 48
	spanCost   = 2*24 + 4*16 // and two segments
	funcCost   = 48 + 100
)

// Calls appends the calls at addr, a file address: innermost inlined first, the function last. Results share Funcs.
func (d *Data) Calls(addr uint64, out []Call) []Call {
	start := len(out)
	d.load()
	i := sort.Search(len(d.index), func(i int) bool { return d.index[i].lo > addr })
	for range maxOverlap {
		if i = d.lastAround(addr, i); i < 0 {
			break
		}
		got := d.index[i].unit.calls(addr, out[:start])
		if len(got) > start && got[start].Func != nil {
			return got
		}
		if len(got) > start || len(out) == start {
			out = got
		}
	}
	return out
}

// maxOverlap bounds an address's units, and the ranges compared one by one.
const maxOverlap = 16

// lastAround returns the last of the first n ranges that contains addr, or, if that is too far away, the first, or −1
// if there is none. Precondition: they start at or before addr.
func (d *Data) lastAround(addr uint64, n int) int {
	for i := n - 1; i >= 0 && d.reaches(i, addr); i-- {
		if addr < d.index[i].hi {
			return i
		}
		if n-i == maxOverlap {
			return sort.Search(i, func(k int) bool { return d.reaches(k, addr) })
		}
	}
	return -1
}

// reaches reports whether one of the first i+1 ranges ends after addr.
func (d *Data) reaches(i int, addr uint64) bool {
	d.compared++
	return d.index[i].max > addr
}

func (d *Data) load() {
	if d.ready {
		return
	}
	d.ready = true
	for off, end := uint64(0), d.s.Info.Size(); off < end && d.spendSteps(1); {
		u := d.readHeader(off)
		if u == nil || !d.takeMemory(unitCost) {
			break
		}
		off = u.end
		if u.kind != unitType && u.kind != unitSplitType {
			d.units = append(d.units, u)
		}
	}
	for _, u := range d.units {
		spans := u.readRoot()
		if !d.takeMemory(len(spans) * rangeCost) {
			break
		}
		for _, s := range spans {
			d.index = append(d.index, unitRange{lo: s.lo, hi: s.hi, unit: u})
		}
	}
	sortRanges(d.index)
}

func (d *Data) unitAt(off uint64) *unit {
	d.load()
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].off > off })
	if i == 0 || off >= d.units[i-1].end || off < d.units[i-1].dies {
		return nil
	}
	return d.units[i-1]
}

func (u *unit) calls(addr uint64, out []Call) []Call {
	t := u.funcsOf()
	lines := u.linesOf()
	file, line, known := lines.find(addr)
	id := t.find(addr)
	if id < 0 {
		if known {
			out = append(out, Call{File: lines.files.path(u, file), Line: int(line)})
		}
		return out
	}
	for n := 0; id >= 0 && n <= maxInline; n++ {
		s := &t.scopes[id]
		if s.fn == nil {
			s.fn = u.d.resolve(s.die)
		}
		out = append(out, Call{Func: s.fn, File: lines.files.path(u, file), Line: int(line), Inlined: s.parent >= 0})
		file, line = s.callFile, s.callLine
		id = s.parent
	}
	return out
}
