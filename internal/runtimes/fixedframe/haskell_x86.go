// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// haskell finds the frame of GHC's Haskell code. The scheduler calls the entry, StgRun, which saves registers above
// room of a fixed size. sp stays there, apart from words pushed for calls of C.
//
// Source: rts/StgCRun.c (StgRunIsImplementedInAssembler).
type haskell struct {
	*process
	start, end uint64 // of the entry
	left       uint64 // from here on only the saved registers remain
	size       uint64 // without return address
	frame      *managed.VerifiedRule
}

// In bytes below the CFA.
var haskellSaved = map[uint8]int64{frames.X86RBX: 56, frames.X86RBP: 48, frames.X86R12: 40, frames.X86R13: 32,
	frames.X86R14: 24, frames.X86R15: 16}

var (
	// sub rsp, 48; mov rax, rsp; sub rsp, …
	haskellPrologue = []byte{0x48, 0x83, 0xec, savedRegsBytes, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec}
	// mov [rax], rbx; mov [rax + 8], rbp; … r12; … r13; … r14; … r15
	haskellSaveRegs = []byte{0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08, 0x4c, 0x89, 0x60, 0x10, 0x4c, 0x89, 0x68, 0x18,
		0x4c, 0x89, 0x70, 0x20, 0x4c, 0x89, 0x78, 0x28}
	// add rsp, …
	haskellFreeRoom = []byte{0x48, 0x81, 0xc4}
	// add rsp, 48; ret
	haskellEpilogue = []byte{0x48, 0x83, 0xc4, savedRegsBytes, 0xc3}
)

const (
	stgRunBytes     = 192     // bytes
	maxHaskellFrame = 1 << 20 // bytes
	savedRegsBytes  = 48      // of the registers
	maxPushedWords  = 32      // for calls of C
	afterSecondSub  = 14      // end of the second sub rsp
	afterFirstSub   = 4       // end of the first
	afterSaves      = 14 + 23 // end of the saves
)

func newHaskell(p *process, start uint64) *haskell {
	var code [stgRunBytes]byte
	h := &haskell{process: p, start: start}
	if !h.readEntry(code[:p.Read(start, code[:])]) {
		return nil
	}
	h.frame = managed.NewVerifiedRule(h.prove, haskellSaved)
	return h
}

func (h *haskell) readEntry(code []byte) bool {
	if len(code) < afterSaves || !bytes.HasPrefix(code, haskellPrologue) ||
		!bytes.HasPrefix(code[afterSecondSub:], haskellSaveRegs) {
		return false
	}
	room := code[len(haskellPrologue):afterSecondSub]
	h.size = uint64(binary.LittleEndian.Uint32(room)) + savedRegsBytes
	leave := bytes.Index(code, slices.Concat(haskellFreeRoom, room))
	ret := bytes.Index(code, haskellEpilogue)
	if h.size > maxHaskellFrame || leave < afterSaves || ret < leave {
		return false
	}
	h.left = h.start + uint64(leave+len(haskellFreeRoom)+len(room))
	h.end = h.start + uint64(ret+len(haskellEpilogue))
	return true
}

// entryRule is the rule in the entry, whose call frame information is partly wrong.
func (h *haskell) entryRule(pc uint64) frames.Rule {
	r := frames.Rule{Method: frames.MethodHeuristic, CFAReg: frames.X86RSP, CFAOff: 8}
	switch {
	case pc < h.start+afterFirstSub, pc == h.end-1:
		return r
	case pc < h.start+afterSecondSub, pc >= h.left:
		r.CFAOff += savedRegsBytes
	default:
		r.CFAOff += int32(h.size)
	}
	if pc < h.start+afterSaves {
		return r
	}
	for i, reg := range compactX86 {
		r.Saved[i] = uint8(haskellSaved[reg] / 8)
	}
	return r
}

func (h *haskell) inFile(m *frames.Module, sources []frames.RuleSource) frames.RuleSource {
	return ruleFunc(func(q frames.Query) (frames.Rule, *frames.Row, bool) {
		pc := q.PC + m.Bias
		if !q.AfterCall && pc >= h.start && pc < h.end {
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
		return h.frame.Rule(q)
	})
}

func (h *haskell) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	return h.oneCall(mem, sp+h.size, maxPushedWords, h.start)
}

// Haskell is GHC's runtime, a [managed.Runtime].
type Haskell struct {
	managed.Base
	lib  *frames.Module
	code *haskell
}

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
		if !isFromGHC(h, m) {
			continue
		}
		for _, s := range h.OwnSymbols(m, haskellSymbol) {
			if code := newHaskell(&process{Host: h, lib: m}, s.Addr); code != nil {
				return &Haskell{lib: m, code: code}, nil
			}
		}
	}
	return nil, nil
}

func isFromGHC(h managed.Host, m *frames.Module) bool {
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

// Attach implements [managed.Runtime].
func (s *Haskell) Attach(h managed.Host) bool {
	if !slices.Contains(h.Modules(), s.lib) {
		return false
	}
	s.code.Host = h
	for _, m := range h.Modules() {
		if m.Owner == nil && isFromGHC(h, m) {
			m.Sources = []frames.RuleSource{s.code.inFile(m, m.Sources)}
			m.Owner, m.NoFP = s, true
		}
	}
	return true
}
