// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"errors"
	"fmt"

	"prywalk/frames"
)

// Config says where the call frame information of a file is. All addresses are
// the file's own, before the load bias.
type Config struct {
	// Arch is the file's architecture.
	Arch frames.Arch
	// EhFrameHdr and EhFrame are the sections of that name (in stripped and
	// other files alike); EhFrameHdr is of no use without EhFrame.
	EhFrameHdr, EhFrame Section
	// DebugFrame is .debug_frame, decompressed; it is asked where the others
	// have no answer.
	DebugFrame Section
	// Text and GOT are the addresses of .text and of the global offset table, to
	// which rare pointers in .eh_frame are relative; 0 if not known.
	Text, GOT uint64
}

// ErrNoCFI reports that there is no section with call frame information.
var ErrNoCFI = errors.New("no call frame information")

// Table gives rules from a file's call frame information. It implements
// [frames.RuleSource], and is for one goroutine at a time.
type Table struct {
	arch  frames.Arch
	hdr   hdrTable
	eh    frameSection
	debug frameSection
	ehIdx index
	dbIdx index
	m     machine
	row   frames.Row // the row being built
	dirty uint64     // registers of row that are not zero
	// pushed is what lies on the stack above the CFA at the row's address, in bytes.
	pushed int64
}

// New gives the table for those sections. Only the header of .eh_frame_hdr is
// read. The error is ErrNoCFI, or says that the architecture is unknown.
func New(cfg Config) (*Table, error) {
	if cfg.Arch != frames.X86_64 && cfg.Arch != frames.AArch64 {
		return nil, fmt.Errorf("call frame information for architecture %v", cfg.Arch)
	}
	t := &Table{arch: cfg.Arch}
	t.eh = frameSection{Section: cfg.EhFrame, eh: true, bases: bases{cfg.Text, cfg.GOT}}
	t.debug = frameSection{Section: cfg.DebugFrame}
	if !t.eh.present() && !t.debug.present() {
		return nil, ErrNoCFI
	}
	if t.eh.present() {
		t.hdr = openHdr(cfg.EhFrameHdr)
	}
	return t, nil
}

// Rule implements [frames.RuleSource]. The row is new and belongs to the caller.
func (t *Table) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	pc := q.Lookup(t.arch)
	f, ok := t.find(pc)
	if !ok {
		return frames.Rule{}, nil, false
	}
	t.m.reset(f.cie)
	if !t.m.run(f.cie, &f.prog, f.sec, f.off, f.start, pc) {
		return frames.Rule{}, nil, false
	}
	t.pushed = 0
	if t.arch == frames.AArch64 && pc == f.start {
		t.pushed = t.m.pushedBefore(&f)
	}
	return t.pack(&f, q.PC)
}

// FuncRange gives the addresses that the FDE for addr describes, end excluded: a
// function, or a part of one that was split. False if there is none.
func (t *Table) FuncRange(addr uint64) (start, end uint64, ok bool) {
	f, ok := t.find(addr)
	return f.start, f.end, ok
}

// find gives the FDE for an address.
func (t *Table) find(pc uint64) (fde, bool) {
	if f, ok := t.findEh(pc); ok {
		return f, true
	}
	if t.debug.present() {
		return t.findIndexed(&t.debug, &t.dbIdx, pc)
	}
	return fde{}, false
}

// findIndexed looks in the index of a section.
func (t *Table) findIndexed(s *frameSection, x *index, pc uint64) (fde, bool) {
	if off, ok := x.find(t, s, pc); ok {
		if f, ok := t.fdeAt(s, off); ok && f.contains(pc) {
			return f, true
		}
	}
	return fde{}, false
}

// maxEmpty bounds the entries that describe nothing and are passed over in a lookup.
const maxEmpty = 8

// findEh gives the FDE in .eh_frame for an address. The one whose code starts last before it may describe nothing.
// BOLT, which rewrites binaries, leaves entries without a length, at the start of a function or in the middle of
// one. Then another entry may be the right one. It is that after it in the section, which the search table leaves
// out if both start at one place, or that before it in the table.
func (t *Table) findEh(pc uint64) (fde, bool) {
	if !t.eh.present() {
		return fde{}, false
	}
	if t.hdr.count == 0 {
		return t.findIndexed(&t.eh, &t.ehIdx, pc)
	}
	addr, i, ok := t.hdr.find(pc)
	for n := 0; ok; n++ {
		if f, intact := t.fdeAt(&t.eh, addr-t.eh.Addr); intact {
			return f, f.contains(pc)
		}
		if f, ok := t.after(addr - t.eh.Addr); ok && f.contains(pc) {
			return f, true
		}
		if i == 0 || n == maxEmpty {
			break
		}
		i--
		_, addr, ok = t.hdr.pair(i)
	}
	return fde{}, false
}

// after gives the FDE that follows the entry at off.
func (t *Table) after(off uint64) (fde, bool) {
	e := t.eh.entry(off)
	next, ok := e.resync(&t.eh)
	if !ok {
		return fde{}, false
	}
	return t.fdeAt(&t.eh, next)
}
