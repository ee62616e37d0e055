package dwarfinfo

import (
	"cmp"
	"slices"
)

// Sections are the contents of a file's .debug_* sections, uncompressed. Any of
// them may be missing. They are not changed, and kept.
type Sections struct {
	// The large ones are read piece by piece: units that are not asked for
	// are not read.
	Info, Line, Str Section

	Abbrev, Aranges     []byte
	LineStr, StrOffsets []byte
	Addr                []byte
	Ranges, Rnglists    []byte
}

// Data is the debug information of one file. It is not safe for use by several
// goroutines at once.
type Data struct {
	s       Sections
	alt     *Data
	budget  int64
	units   []*unit
	index   []unitRange
	ready   bool
	specs   []spec // scratch of readAbbrev
	abbrevs map[abbrevKey]*abbrevTable
	lines   map[uint64]*lineTable
	names   map[uint64]*Func
}

// Func is what debug information says of a function as such.
type Func struct {
	// Name is DW_AT_name; in C++ and Rust qualified by namespaces and types
	// where there is no linkage name.
	Name string
	// Linkage is DW_AT_linkage_name, empty where there is none (C).
	Linkage string
	// Line is DW_AT_decl_line, 0 if unknown.
	Line int
}

// Call is a function that an address belongs to.
type Call struct {
	// Func is nil where only the line is known (assembly).
	Func *Func
	// File is the path as the compiler recorded it, made absolute with the
	// compilation directory where that is known. Empty if unknown.
	File string
	// Line is 0 if unknown.
	Line int
	// Inlined: the next Call is the function that this one was inlined into.
	Inlined bool
}

// unitRange says that a unit has code at [lo, hi).
type unitRange struct {
	lo, hi uint64
	max    uint64 // the largest hi up to here in the index
	unit   *unit
}

// budgetFloor is what even the smallest file may cost, in steps.
const budgetFloor = 1 << 18

// New gives the debug information in s; alt is that of the supplementary file
// (.gnu_debugaltlink, DWARF 5 §7.3.6), nil if there is none. Nothing is read yet.
func New(s Sections, alt *Data) *Data {
	d := &Data{s: s, alt: alt, abbrevs: make(map[abbrevKey]*abbrevTable), lines: make(map[uint64]*lineTable), names: make(map[uint64]*Func)}
	total := min(size(s.Info)+size(s.Line)+size(s.Str), 1<<50)
	for _, b := range [][]byte{s.Abbrev, s.Aranges, s.StrOffsets, s.Addr, s.Ranges, s.Rnglists} {
		total += uint64(len(b))
	}
	d.budget = budgetFloor + 2*int64(total)
	return d
}

// pay takes n steps from the budget; false if it is spent.
func (d *Data) pay(n int) bool {
	d.budget -= int64(n)
	return d.budget > 0
}

// Calls appends what is at addr, an address of the file's own, innermost inlined
// call first, the function that has the code last. It appends nothing if the
// address is in no unit. The Funcs are shared between answers.
func (d *Data) Calls(addr uint64, out []Call) []Call {
	d.load()
	start := len(out)
	i, _ := slices.BinarySearchFunc(d.index, addr, func(r unitRange, a uint64) int {
		if r.lo <= a {
			return -1
		}
		return 1
	})
	for tries := 0; i > 0 && d.index[i-1].max > addr && tries < maxOverlap; i-- {
		r := &d.index[i-1]
		if addr >= r.hi {
			continue
		}
		tries++
		got := r.unit.calls(addr, out[:start])
		if len(got) > start && got[start].Func != nil {
			return got
		}
		if len(got) > start || len(out) == start {
			out = got
		}
	}
	return out
}

// maxOverlap is the number of units that may claim an address before the search
// gives up.
const maxOverlap = 16

// load chains through the unit headers and builds the index, once.
func (d *Data) load() {
	if d.ready {
		return
	}
	d.ready = true
	for off, end := uint64(0), size(d.s.Info); off < end && d.pay(1); {
		u := d.readHeader(off)
		if u == nil {
			break
		}
		off = u.end
		if u.kind != unitType && u.kind != unitSplitType {
			d.units = append(d.units, u)
		}
	}
	var aranges map[uint64][]span
	for _, u := range d.units {
		spans := u.readRoot()
		if len(spans) == 0 && u.hasCode {
			if aranges == nil {
				aranges = d.readAranges()
			}
			spans = aranges[u.off]
		}
		for _, s := range spans {
			d.index = append(d.index, unitRange{lo: s.lo, hi: s.hi, unit: u})
		}
	}
	d.sortIndex()
}

// sortIndex orders the ranges by address and notes how far each prefix reaches.
func (d *Data) sortIndex() {
	slices.SortStableFunc(d.index, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	var reach uint64
	for i := range d.index {
		reach = max(reach, d.index[i].hi)
		d.index[i].max = reach
	}
}

// unitAt gives the unit that an offset in .debug_info is in, nil if none.
func (d *Data) unitAt(off uint64) *unit {
	d.load()
	i, _ := slices.BinarySearchFunc(d.units, off, func(u *unit, o uint64) int {
		if u.off <= o {
			return -1
		}
		return 1
	})
	if i == 0 || off >= d.units[i-1].end || off < d.units[i-1].dies {
		return nil
	}
	return d.units[i-1]
}
