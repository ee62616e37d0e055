// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// haskell knows the frame of the code that GHC makes of Haskell. That code lies in files, but has no call frame
// information.
//
// Haskell has a stack of its own, to which rbp leads. Its code leaves the machine's stack pointer where the entry has
// put it, but for the few words that calls of C push. The entry, StgRun, is called by the scheduler directly. It makes
// room of a fixed size, keeps the registers behind that, and jumps to Haskell. So the caller of all of that code is
// who called the entry. What lies in that room is mostly of frames that have ended: nothing is looked for there.
//
// Source: GHC's rts/StgCRun.c (StgRunIsImplementedInAssembler).
type haskell struct {
	*process
	start, end uint64 // the entry, and the code behind it up to its return
	left       uint64 // where that has given up the frame but for the registers
	size       uint64 // of its frame, without the return address
	frame      *proof
}

// haskellSaved has where the entry keeps registers, below the CFA.
var haskellSaved = map[uint8]int64{frames.X86RBX: 56, frames.X86RBP: 48, frames.X86R12: 40, frames.X86R13: 32,
	frames.X86R14: 24, frames.X86R15: 16}

var (
	// sub rsp, 48; mov rax, rsp; sub rsp, …
	haskellRoom = []byte{0x48, 0x83, 0xec, haskellKept, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec}
	// mov [rax], rbx; mov [rax + 8], rbp; mov [rax + 16], r12; … r13; … r14; mov [rax + 40], r15.
	haskellKeeps = []byte{0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08, 0x4c, 0x89, 0x60, 0x10, 0x4c, 0x89, 0x68, 0x18,
		0x4c, 0x89, 0x70, 0x20, 0x4c, 0x89, 0x78, 0x28}
	// add rsp, …
	haskellLeaves = []byte{0x48, 0x81, 0xc4}
	// add rsp, 48; ret
	haskellReturns = []byte{0x48, 0x83, 0xc4, haskellKept, 0xc3}
)

const (
	haskellEntry  = 192     // how long the entry is at most, with what is behind it
	haskellMost   = 1 << 20 // a frame larger than this is none
	haskellKept   = 48      // the bytes of the registers
	haskellPushed = 32      // how many words calls of C push at most
	haskellMakes  = 14      // bytes up to where the frame is made, …
	haskellFirst  = 4       // … to where the room for the registers is, …
	haskellSaves  = 14 + 23 // … and to where they are kept
)

// newHaskell reads the entry at start; nil if it is none.
func newHaskell(p *process, start uint64) *haskell {
	var code [haskellEntry]byte
	h := &haskell{process: p, start: start}
	if !h.readEntry(code[:p.o.Read(start, code[:])]) {
		return nil
	}
	h.frame = newProof(haskellSaved)
	h.frame.prove = h.prove
	return h
}

// readEntry takes the sizes from the entry's instructions.
func (h *haskell) readEntry(code []byte) bool {
	if len(code) < haskellSaves || !bytes.HasPrefix(code, haskellRoom) ||
		!bytes.HasPrefix(code[haskellMakes:], haskellKeeps) {
		return false
	}
	room := code[len(haskellRoom):haskellMakes]
	h.size = uint64(binary.LittleEndian.Uint32(room)) + haskellKept
	leave := bytes.Index(code, slices.Concat(haskellLeaves, room))
	ret := bytes.Index(code, haskellReturns)
	if h.size > haskellMost || leave < haskellSaves || ret < leave {
		return false
	}
	h.left = h.start + uint64(leave+len(haskellLeaves)+len(room))
	h.end = h.start + uint64(ret+len(haskellReturns))
	return true
}

// entryRule gives the rule of the entry itself, whose call frame information does not hold at each instruction.
func (h *haskell) entryRule(pc uint64) frames.Rule {
	r := frames.Rule{Method: frames.MethodHeuristic, CFAReg: frames.X86RSP, CFAOff: 8}
	switch {
	case pc < h.start+haskellFirst, pc == h.end-1:
		return r
	case pc < h.start+haskellMakes, pc >= h.left:
		r.CFAOff += haskellKept
	default:
		r.CFAOff += int32(h.size)
	}
	if pc < h.start+haskellSaves {
		return r // the registers are still there
	}
	for i, reg := range compactX86 {
		r.Saved[i] = uint8(haskellSaved[reg] / 8)
	}
	return r
}

// inFile gives the source of a module's rules: call frame information where there is some, else the frame.
func (h *haskell) inFile(m *frames.Module, sources []frames.RuleSource) frames.RuleSource {
	return ruleFunc(func(q frames.Query) (frames.Rule, *frames.Row, bool) {
		pc := q.PC + m.Bias
		if !q.Caller && pc >= h.start && pc < h.end {
			return h.entryRule(pc), nil, true
		}
		for _, s := range sources {
			if r, row, ok := s.Rule(q); ok {
				if r.Method == frames.MethodCFI || r.Flags&frames.FlagRoot != 0 {
					return r, row, true
				}
				break
			}
		}
		return h.frame.rule()
	})
}

// prove finds the one word behind the entry's frame that follows a call of it.
func (h *haskell) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	return h.oneCall(mem, sp+h.size, haskellPushed, h.start)
}

// Haskell is the run-time system of programs that GHC has made. It implements [managed.Runtime].
type Haskell struct {
	lib *frames.Module // has the entry
	of  *haskell
}

// What tells such programs: GHC puts a section into each, and names libraries so.
const (
	haskellSection = ".debug-ghc-link-info"
	haskellLibrary = "libHS"
	haskellSymbol  = "StgRun"
)

// DetectHaskell is a [managed.Detector].
func DetectHaskell(h managed.Host) (managed.Runtime, error) {
	if h.Arch() != frames.X86_64 {
		return nil, nil
	}
	for _, m := range h.Modules() {
		if !ofGHC(h, m) {
			continue
		}
		for _, s := range h.Own(m, haskellSymbol) {
			p := &process{o: Options{Arch: h.Arch(), Read: h.Read, Modules: h.Modules()}, lib: m}
			if of := newHaskell(p, s.Addr); of != nil {
				return &Haskell{m, of}, nil
			}
		}
	}
	return nil, nil
}

// ofGHC reports whether a file has code of GHC.
func ofGHC(h managed.Host, m *frames.Module) bool {
	if m.Generated || m.Calls == nil {
		return false
	}
	if strings.HasPrefix(filepath.Base(m.Name), haskellLibrary) {
		return true
	}
	_, _, ok := h.Section(m, haskellSection)
	return ok
}

// Name implements [managed.Runtime].
func (s *Haskell) Name() string { return "GHC" }

// Adopt implements [managed.Runtime].
func (s *Haskell) Adopt(h managed.Host) bool {
	s.of.o.Modules = h.Modules()
	there := false
	for _, m := range h.Modules() {
		there = there || m == s.lib
		if !m.NoFP && ofGHC(h, m) {
			m.Sources = []frames.RuleSource{s.of.inFile(m, m.Sources)}
			m.NoFP = true
		}
	}
	return there
}

// Changed implements [managed.Runtime].
func (s *Haskell) Changed() bool { return false }

// Forget implements [managed.Runtime].
func (s *Haskell) Forget() {}
