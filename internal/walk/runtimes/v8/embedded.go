// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/walk/managed"
)

// Builtins is V8's code compiled at build time, in the program's file. It saves only the frame pointer. Symbols have
// its start and the word with its size (EmbeddedFileWriter in src/snapshot/embedded).
type Builtins struct {
	elf     *elffile.File
	symbols managed.FileSymbols
	found   bool
	code    managed.Span
	// Deoptimized functions return to these starts of builtins.
	continuations []uint64
}

// BuiltinsOf returns the Builtins of a file, which is read later.
func BuiltinsOf(f *elffile.File, symbols managed.FileSymbols) managed.Builtins {
	return &Builtins{elf: f, symbols: symbols}
}

// SavesFPOnly implements [managed.Builtins].
func (b *Builtins) SavesFPOnly(pc uint64) bool {
	b.search()
	return b.code.Has(pc)
}

func (b *Builtins) search() {
	if b.found {
		return
	}
	b.found = true
	at := map[string]uint64{}
	for _, s := range b.symbols.Named(symCode, symInside, symSize, funCode, funSize) {
		at[s.Name] = s.Addr
	}
	begin := cmp.Or(at[symInside], at[symCode])
	var size [4]byte
	if begin == 0 || at[symSize] == 0 || b.elf.ReadAddr(at[symSize], size[:]) != len(size) {
		b.code = exportedCode(b.elf.ReadAddr, at[funCode], at[funSize])
		return
	}
	b.code = managed.Span{Start: begin, End: begin + uint64(binary.LittleEndian.Uint32(size[:]))}
	b.symbols.Tables(b.findContinuations)
}

// exportedCode is the builtins' code by V8's functions that return its start and size; Debian's libnode has no more.
// The code of those functions is read for x86-64 only.
func exportedCode(read func(at uint64, b []byte) int, start, size uint64) managed.Span {
	if begin, length := returned(read, start), returned(read, size); begin != 0 && length <= min(maxBuiltins, -begin) {
		return managed.Span{Start: begin, End: begin + length}
	}
	return managed.Span{}
}

// returned is what a function returns: lea rax, [rip+d]; then mov rax, [rax], or for four bytes mov eax, [rax], or
// nothing; ret. It is 0 for other code.
func returned(read func(at uint64, b []byte) int, at uint64) (value uint64) {
	var code [24]byte
	b := code[:read(at, code[:])]
	rest := bytes.TrimPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	if len(rest) < 11 || !bytes.HasPrefix(rest, []byte{0x48, 0x8d, 0x05}) {
		return 0
	}
	at += uint64(len(b)-len(rest)+7) + uint64(int64(int32(binary.LittleEndian.Uint32(rest[3:]))))
	var word [8]byte
	switch rest = rest[7:]; {
	case rest[0] == 0xc3:
		return at
	case bytes.HasPrefix(rest, []byte{0x48, 0x8b, 0x00, 0xc3}):
		if read(at, word[:]) != len(word) {
			return 0
		}
	case bytes.HasPrefix(rest, []byte{0x8b, 0x00, 0xc3}):
		if read(at, word[:4]) != 4 {
			return 0
		}
	}
	return binary.LittleEndian.Uint64(word[:])
}

// Continues implements [managed.Builtins], by names of builtins (Deoptimizer::ContinuationForOutermost… in
// src/deoptimizer).
func (b *Builtins) Continues(pc uint64) bool {
	b.search()
	return slices.Contains(b.continuations, pc)
}

// Rule implements [managed.Builtins].
func (*Builtins) Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool) { return ruleOf(arch) }

func isContinuation(name []byte) bool {
	name, ok := bytes.CutPrefix(name, []byte("Builtins_"))
	return ok && (bytes.Contains(name, []byte("EnterAt")) || bytes.HasSuffix(name, []byte("DeoptContinuation")) ||
		bytes.HasPrefix(name, []byte("ContinueTo")) || bytes.HasPrefix(name, []byte("NotifyDeoptimized")))
}

// maxContinued counts continuations, maxBuiltins bytes of all builtins: about 2 MB in those measured.
const maxContinued, maxBuiltins = 256, 16 << 20

func (b *Builtins) findContinuations(f *elffile.File, kind elffile.SymbolKind) {
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool {
		if s.Type() == elf.STT_FUNC && b.code.Has(s.Value) && isContinuation(f.NameBytes(kind, s)) {
			b.continuations = append(b.continuations, s.Value)
		}
		return len(b.continuations) < maxContinued
	})
}

// # Rules
//
// V8's run-time code saves only the caller's frame pointer. The analysis of instructions finds that except in code of
// unknown end, and where deoptimized code returns to the first instruction of a builtin
// (InterpreterEnterAtNextBytecode).

var byFramePointer = frames.Row{
	CFAReg: frames.X86RBP, CFAOff: 16,
	RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8},
	Regs: [frames.NumRegs]frames.RegRule{
		frames.X86RBP: {Kind: frames.RuleOffset, Off: -16},
		frames.X86RBX: {Kind: frames.RuleUndefined},
		frames.X86R12: {Kind: frames.RuleUndefined},
		frames.X86R13: {Kind: frames.RuleUndefined},
		frames.X86R14: {Kind: frames.RuleUndefined},
		frames.X86R15: {Kind: frames.RuleUndefined},
	},
}

// One for all code: a row for each return address would be kept by the cache of rules.
var jitRule, jitRow = byFramePointer.Compact(frames.X86_64, frames.MethodCFI, 0)

func ruleOf(arch frames.Arch) (frames.Rule, *frames.Row, bool) {
	if arch != frames.X86_64 {
		return frames.Rule{}, nil, false
	}
	return jitRule, jitRow, true
}

type jitRules struct{ runtime *Runtime }

// Rule implements [frames.RuleSource].
func (r jitRules) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	arch := r.runtime.heap.host.Arch()
	if !q.AfterCall || q.SPOnly || r.runtime.codes.codeAt(q.LookupPC(arch)) == nil {
		return frames.Rule{}, nil, false
	}
	return ruleOf(arch)
}

// running is memory of threads that run.
type running struct{ managed.Reader }

// Unchanged implements [managed.Live].
func (running) Unchanged() bool { return false }
