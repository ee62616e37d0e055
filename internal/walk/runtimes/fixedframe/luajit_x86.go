// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// luaJIT finds the frames of LuaJIT's traces (64-bit references, the default on x86-64 since 2.1). The interpreter
// saves two registers and jumps to a trace (JLOOP), which lowers sp by its spill area. The dispatch table's register
// leads to descriptions of traces.
//
// Sources: vm_x64.dasc ("rsp entering interpreter", SAVE_CFRAME, SAVE_L; JLOOP), lj_jit.h (GCtrace, jit_State),
// lj_frame.h (CFRAME_RAWMASK).
type luaJIT struct {
	process          *process
	frame            *managed.VerifiedRule
	cframeSize       int64 // with return address
	traceArrayOffset int64 // in the dispatch table
	mcodeOffset      int64 // of the code address in a GCtrace
	vms              []*luaVM
	spills           []int64 // of known traces, sorted
	exits            luaExits
}

type luaVM struct {
	dispatch uint64
	head     [16]byte // array, next free number, length
	traces   []luaTrace
}

type luaTrace struct {
	start, end uint64
	spill      int64
}

const (
	maxLuaVMs    = 16
	maxLuaTraces = 16 << 10
	maxLuaCode   = 1 << 20 // bytes of a trace
)

// luaSaveL and luaSaveCFrame are offsets from sp in the C frame (lj_frame.h).
const (
	luaSaveL      = 16
	luaSaveCFrame = 32
	luaFlags      = 3 // low bits of a C frame's address
)

var (
	// push rbp, rbx, r15, r14; sub rsp, 40
	luaPrologue = []byte{0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28}
	// JLOOP: mov rcx, [r14 + …]; mov rax, [rcx + rax·8]; mov rax, [rax + …]; …
	luaLoadTraceArray = []byte{0x49, 0x8b, 0x8e}
	luaLoadTraceCode  = []byte{0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40}
	// … sub rsp, 16; mov [rsp + 16], r12; mov [rsp + 8], r13; jmp rax
	luaJumpToTrace = []byte{0x48, 0x83, 0xec, 0x10, 0x4c, 0x89, 0x64, 0x24, 0x10, 0x4c, 0x89, 0x6c, 0x24, 0x08, 0xff, 0xe0}
)

// luaJLoop and luaJLoopPushed are sizes in bytes.
const (
	luaJLoop       = 80
	luaJLoopPushed = 16
)

func findLuaJIT(r *Runtime) bool {
	l := readLuaJIT(&r.process)
	if l != nil {
		r.Early, r.File, r.forget = ruleFunc(l.knownTrace), ruleFunc(l.fileRule), l.forget
		r.Late = l.frame // traces found by registers
	}
	return l != nil
}

// readLuaJIT returns nil if the interpreter's instructions are unknown.
func readLuaJIT(p *process) *luaJIT {
	l := &luaJIT{process: p}
	var rule frames.Rule
	p.eachText(p.lib, luaExitHandlerBytes+luaJLoop, func(addr uint64, code []byte) bool {
		if l.cframeSize == 0 {
			if i := bytes.Index(code, luaPrologue); i >= 0 {
				rule = l.readInterpreterFrame(addr + uint64(i))
			}
		}
		for i := 0; l.traceArrayOffset == 0 && i < len(code); {
			n := bytes.Index(code[i:], luaLoadTraceArray)
			if n < 0 {
				break
			}
			l.readJLoop(code[i+n:])
			i += n + 1
		}
		if l.exits.end == 0 {
			l.findExits(addr, code)
		}
		return l.cframeSize != 0 && l.traceArrayOffset != 0 && l.exits.end != 0
	})
	if l.cframeSize == 0 || l.traceArrayOffset == 0 {
		return nil
	}
	saved := map[uint8]int64{frames.X86R12: l.cframeSize, frames.X86R13: l.cframeSize + 8}
	for i, reg := range compactX86 {
		if n := rule.Saved[i]; n != 0 {
			saved[reg] = 8 * int64(n)
		}
	}
	l.frame = managed.NewVerifiedRule(l.prove, saved)
	l.exits.exit = managed.NewVerifiedRule(l.proveExit, saved)
	return l
}

func (l *luaJIT) readInterpreterFrame(at uint64) frames.Rule {
	for _, s := range l.process.lib.Sources {
		r, row, ok := s.Rule(frames.Query{PC: at - l.process.lib.Bias})
		if !ok {
			continue
		}
		if row == nil && r.Flags == 0 && r.Method == frames.MethodCFI && r.CFAReg == frames.X86RSP &&
			r.CFAOff == 8+4*8+0x28 {
			l.cframeSize = int64(r.CFAOff)
			return r
		}
		break
	}
	return frames.Rule{}
}

func (l *luaJIT) readJLoop(code []byte) {
	if len(code) < luaJLoop || !bytes.HasPrefix(code[7:], luaLoadTraceCode) {
		return
	}
	if !bytes.Contains(code[:luaJLoop], luaJumpToTrace) {
		return
	}
	l.traceArrayOffset = int64(int32(binary.LittleEndian.Uint32(code[3:])))
	l.mcodeOffset = int64(int8(code[14]))
}

func (l *luaJIT) forget() {
	for _, vm := range l.vms {
		*vm = luaVM{dispatch: vm.dispatch}
	}
}

func (l *luaJIT) knownTrace(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if _, ok := l.traceAt(q.LookupPC(frames.X86_64)); !ok {
		return frames.Rule{}, nil, false
	}
	return l.frame.Rule(q)
}

// prove reads descriptions again if it fails.
func (l *luaJIT) prove(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	sp, ok := regs.Get(frames.X86RSP)
	if !ok {
		return 0, 0, false
	}
	if cfa, unread, ok = l.frameOf(sp, mem, pc); ok || unread != 0 {
		return cfa, unread, ok
	}
	if dispatch, known := regs.Get(frames.X86R14); !known || !l.learn(dispatch) {
		return 0, 0, false
	}
	return l.frameOf(sp, mem, pc)
}

func (l *luaJIT) frameOf(sp uint64, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	t, ok := l.traceAt(pc)
	if !ok {
		return 0, 0, false
	}
	frame := sp + uint64(t.spill+luaJLoopPushed)
	cfa = frame + uint64(l.cframeSize)
	if _, readable := mem.Word(cfa - 8); !readable {
		return 0, cfa - 8, false
	}
	return cfa, 0, l.isFrame(mem, frame)
}

// isFrame reports whether frame is a C frame of the interpreter: it has a Lua thread; a previous C frame is higher.
func (l *luaJIT) isFrame(mem frames.Memory, frame uint64) bool {
	end := frame + uint64(l.cframeSize)
	ret, readable := mem.Word(end - 8)
	state, _ := mem.Word(frame + luaSaveL)
	outer, _ := mem.Word(frame + luaSaveCFrame)
	if !readable || state == 0 || state%8 != 0 || outer != 0 && outer&^luaFlags < end {
		return false
	}
	_, caller, ok := l.process.callBefore(ret)
	return ok && !caller.Generated
}

func (l *luaJIT) traceAt(pc uint64) (luaTrace, bool) {
	for _, vm := range l.vms {
		if vm.head == ([16]byte{}) {
			l.read(vm)
		}
		i := sort.Search(len(vm.traces), func(i int) bool { return vm.traces[i].end > pc })
		if i < len(vm.traces) && vm.traces[i].start <= pc {
			return vm.traces[i], true
		}
	}
	return luaTrace{}, false
}

// learn reads a dispatch table's traces, and reports whether they changed.
func (l *luaJIT) learn(dispatch uint64) bool {
	if i := slices.IndexFunc(l.vms, func(vm *luaVM) bool { return vm.dispatch == dispatch }); i >= 0 {
		return l.read(l.vms[i])
	}
	vm := &luaVM{dispatch: dispatch}
	if dispatch%8 != 0 || !l.read(vm) || len(vm.traces) == 0 {
		return false
	}
	if len(l.vms) == maxLuaVMs {
		l.vms = l.vms[1:]
	}
	l.vms = append(l.vms, vm)
	return true
}

func (l *luaJIT) read(vm *luaVM) bool {
	var head [16]byte
	if l.process.host.Read(vm.dispatch+uint64(l.traceArrayOffset), head[:]) < len(head) || head == vm.head {
		return false
	}
	array := binary.LittleEndian.Uint64(head[:])
	n := binary.LittleEndian.Uint32(head[12:])
	if n > maxLuaTraces || array%8 != 0 {
		return false
	}
	refs := make([]byte, 8*n)
	if l.process.host.Read(array, refs) < len(refs) {
		return false
	}
	vm.head, vm.traces = head, vm.traces[:0]
	for i := range uint64(n) {
		if at := binary.LittleEndian.Uint64(refs[8*i:]); at != 0 {
			if t, ok := l.describe(at, i); ok {
				vm.traces = append(vm.traces, t)
				if i, known := slices.BinarySearch(l.spills, t.spill); !known {
					l.spills = slices.Insert(l.spills, i, t.spill)
				}
			}
		}
	}
	slices.SortFunc(vm.traces, func(a, b luaTrace) int { return cmp.Compare(a.start, b.start) })
	return true
}

func (l *luaJIT) describe(at, number uint64) (luaTrace, bool) {
	var b [22]byte
	if l.process.host.Read(at+uint64(l.mcodeOffset)-4, b[:]) < len(b) {
		return luaTrace{}, false
	}
	t := luaTrace{start: binary.LittleEndian.Uint64(b[4:]), spill: int64(binary.LittleEndian.Uint16(b[18:]))}
	size := binary.LittleEndian.Uint32(b[:])
	t.end = t.start + uint64(size)
	own := uint64(binary.LittleEndian.Uint16(b[20:]))
	return t, own == number && size <= maxLuaCode && t.spill%8 == 0 && t.end > t.start && l.process.isGenerated(t.start)
}
