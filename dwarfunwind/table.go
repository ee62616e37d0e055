// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"errors"
	"fmt"

	"prywalk/frames"
)

// Config is a file's call frame information, with addresses in the file's address space.
type Config struct {
	Arch frames.Arch
	// EhFrameHdr is used only with EhFrame.
	EhFrameHdr, EhFrame Section
	// DebugFrame is .debug_frame, decompressed. It is searched last.
	DebugFrame Section
	// Reserve is asked before an index of a section without a table grows by so many bytes. If it returns false, the
	// entries from there on are not found. Without Reserve the index has at most 64 MiB per section.
	Reserve func(bytes int64) bool
}

// ErrNoCFI means that the file has no call frame information.
var ErrNoCFI = errors.New("no call frame information")

// Table is a [frames.RuleSource] over a file's call frame information, for one goroutine at a time.
type Table struct {
	arch      frames.Arch
	archRules *archRules
	hdr       searchTable
	eh        frameSection
	debug     frameSection
	reserve   func(bytes int64) bool
	machine   machine
}

// New reads only the header of .eh_frame_hdr. Errors: [ErrNoCFI], or an unknown architecture.
func New(cfg Config) (*Table, error) {
	t := &Table{arch: cfg.Arch, archRules: rulesByArch[cfg.Arch], reserve: cfg.Reserve}
	if t.archRules == nil {
		return nil, fmt.Errorf("call frame information for architecture %v", cfg.Arch)
	}
	t.eh = frameSection{section: cfg.EhFrame, eh: true}
	t.debug = frameSection{section: cfg.DebugFrame}
	if !t.eh.section.present() && !t.debug.section.present() {
		return nil, ErrNoCFI
	}
	if t.eh.section.present() {
		t.hdr = openSearchTable(cfg.EhFrameHdr)
	}
	return t, nil
}

// Rule implements [frames.RuleSource]. The row is the caller's.
func (t *Table) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc := q.LookupPC(t.arch)
	f, ok := t.find(pc)
	if !ok {
		return frames.Rule{}, nil, false
	}
	t.machine.reset(f.cie)
	if !t.machine.run(f.cie, &f.prog, f.sec, f.off, f.start, pc) {
		return frames.Rule{}, nil, false
	}
	r, row, ok := t.compactRule(&f, q.PC)
	if q.AfterCall && f.contains(q.PC) {
		r.Flags |= frames.FlagWithin
	}
	return r, row, ok
}

// FuncRange returns the bounds of the FDE at addr, the end excluded: of a function, or of a part of one.
func (t *Table) FuncRange(addr frames.ModuleAddr) (start, end frames.ModuleAddr, ok bool) {
	f, ok := t.find(addr)
	return f.start, f.end, ok
}

func (t *Table) find(pc uint64) (fde, bool) {
	if f, ok := t.findEh(pc); ok {
		return f, true
	}
	if t.debug.section.present() {
		return t.findIndexed(&t.debug, pc)
	}
	return fde{}, false
}

const maxEmptyFDEs = 8

// findEh searches .eh_frame. BOLT leaves entries of length 0 at the start of functions or within. Then the FDE is the
// next in the section, which the search table lacks if both start at one address, or the one before in the table.
func (t *Table) findEh(pc uint64) (fde, bool) {
	if !t.eh.section.present() {
		return fde{}, false
	}
	if t.hdr.count == 0 {
		return t.findIndexed(&t.eh, pc)
	}
	addr, i, ok := t.hdr.find(pc)
	for n := 0; ok; n++ {
		if f, intact := t.fdeAt(&t.eh, addr-t.eh.section.Addr); intact {
			return f, f.contains(pc)
		}
		if f, ok := t.nextFDE(addr - t.eh.section.Addr); ok && f.contains(pc) {
			return f, true
		}
		if i == 0 || n == maxEmptyFDEs {
			break
		}
		i--
		_, addr, ok = t.hdr.pairAt(i)
	}
	return fde{}, false
}

// nextFDE returns the FDE behind the entry at off.
func (t *Table) nextFDE(off uint64) (fde, bool) {
	e := t.eh.entryAt(off)
	next, ok := e.nextOffset(&t.eh)
	if !ok {
		return fde{}, false
	}
	return t.fdeAt(&t.eh, next)
}
