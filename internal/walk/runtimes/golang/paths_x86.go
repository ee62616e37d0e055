// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"maps"
	"slices"

	"prywalk/internal/base/cache"
	"prywalk/internal/code/x86"
)

// # The registers and the stack at an instruction
//
// A function is interpreted by ascending address, again until the states at the targets of backward jumps stay the
// same: the body of a for loop is often reached by such a jump only. A value is an origin (node) plus a constant. Where
// paths join, equal values and common locks are kept.
//
//	push rbp; mov rbp, rsp      rbp is the stack at the start − 8, and that word has rbp of the start
//	lea rcx, [rip+main.mu]      rcx is a file address
//	mov rdx, [rcx+8]            rdx is the word at that address + 8
//
// Sources: Intel SDM volume 2 (tables ); cmd/compile/abi-internal.md (arguments in registers).

type nodeKind uint8

const (
	nodeAny nodeKind = iota
	nodeConstant
	nodeImage // file address
	nodeStack // stack pointer at the function's start, at the return address
	nodeArg   // register at the function's start
	nodeCall  // register after a call, or after a load from an unknown address
	nodeSlot
	nodeLoad // memory at another value
)

// Equal nodes are equal values.
type node struct {
	kind nodeKind
	reg  uint8
	at   int64  // offset; address of a call
	base uint32 // nodeLoad: of the address
}

// value is nodes[node] + off. Node 0 means that it is unknown.
type value struct {
	node uint32
	off  int64
}

// The nodes of each analysis.
const (
	argNodes  = 1 // of 16 registers
	stackNode = argNodes + regSP
)

// pathX86 is the state at an instruction.
type pathX86 struct {
	regs         [16]value
	slots        map[int32]value // by offset from the stack pointer at the function's start
	held         []heldLockX86
	awaited      value // lock of the last call
	viaInterface value // what may be a lock of the last call
}

type analysisX86 struct {
	name    func(pc uint64) string // nil means that locks are not followed
	kept    uint32                 // registers that calls keep
	sp      *steps                 // of pcsp; nil means that the stack pointer is followed
	nodes   []node
	number  map[node]uint32
	path    pathX86
	reached bool
	pending map[uint64]*pathX86
	loops   map[uint64]*pathX86 // at targets of backward jumps
	changed bool                // loops
}

const (
	maxPending = 1 << 10
	maxPasses  = 16 // a state only loses values and locks
)

func newAnalysisX86(name func(uint64) string, kept uint32) *analysisX86 {
	a := &analysisX86{name: name, kept: kept, nodes: []node{{}}, number: map[node]uint32{}, loops: map[uint64]*pathX86{}}
	for r := range a.path.regs {
		n := node{kind: nodeArg, reg: uint8(r)}
		if r == regSP {
			n = node{kind: nodeStack}
		}
		a.valueOf(n)
	}
	return a
}

// at interprets code, which begins at entry, and returns the state before the instruction with pc, or after the one
// that ends there; nil if none reaches it, as behind an unknown instruction.
func (a *analysisX86) at(code []byte, entry, pc uint64, after bool) (found *pathX86) {
	for n := 0; n == 0 || a.changed; n++ {
		if n == maxPasses {
			return nil
		}
		found = a.pass(code, entry, pc, after)
	}
	return found
}

func (a *analysisX86) pass(code []byte, entry, pc uint64, after bool) (found *pathX86) {
	a.path, a.pending = pathX86{slots: map[int32]value{}}, map[uint64]*pathX86{}
	a.reached, a.changed = true, false
	for r := range a.path.regs {
		a.path.regs[r] = value{node: argNodes + uint32(r)}
	}
	fallsThrough, sp := true, steps{}
	if a.sp != nil {
		sp = *a.sp
	}
	walkX86(entry, code, func(in *insn, next uint64) bool {
		at := next - uint64(in.Size)
		a.joinAt(at, fallsThrough)
		if a.sp != nil {
			for sp.pc <= at && sp.next() {
			}
			a.path.regs[regSP] = value{stackNode, -int64(sp.val)}
		}
		if !after && at <= pc && pc < next && a.reached {
			found = a.path.clone()
		}
		if a.reached {
			a.step(in, at, next)
		}
		var jumps bool
		if fallsThrough, jumps = in.successors(); jumps && a.reached {
			a.jump(next, next+uint64(in.Imm))
		}
		if after && next == pc && a.reached {
			found = a.path.clone()
		}
		return true
	})
	return found
}

func (p *pathX86) clone() *pathX86 {
	q := *p
	q.slots, q.held = maps.Clone(p.slots), slices.Clone(p.held)
	return &q
}

func (a *analysisX86) valueOf(n node) value {
	if n.kind == nodeAny {
		return value{}
	}
	i, ok := a.number[n]
	if !ok {
		i = uint32(len(a.nodes))
		a.nodes = append(a.nodes, n)
		a.number[n] = i
	}
	return value{node: i}
}

func (a *analysisX86) constant(n int64) value {
	v := a.valueOf(node{kind: nodeConstant})
	v.off = int64(int32(n))
	return v
}

func (a *analysisX86) isConstant(v value, n int32) bool {
	return a.nodes[v.node].kind == nodeConstant && int32(v.off) == n
}

func (a *analysisX86) jump(from, to uint64) {
	states := a.pending
	if to < from {
		states = a.loops
	}
	before, other := states[to], a.path.clone()
	if before == nil && len(states) >= maxPending {
		return
	}
	if before != nil {
		other.join(before)
	}
	states[to] = other
	if to < from {
		a.changed = a.changed || before == nil || !other.equal(before)
	}
}

func (p *pathX86) equal(other *pathX86) bool {
	return p.regs == other.regs && maps.Equal(p.slots, other.slots) && len(p.held) == len(other.held)
}

// joinAt joins the states of all paths to an instruction. fallsThrough means that the one before continues there.
func (a *analysisX86) joinAt(at uint64, fallsThrough bool) {
	a.reached = a.reached && fallsThrough
	for _, other := range []*pathX86{a.pending[at], a.loops[at]} {
		switch {
		case other == nil:
		case a.reached:
			a.path.join(other)
		default:
			a.path, a.reached = *other.clone(), true
		}
	}
	delete(a.pending, at)
}

func (p *pathX86) join(other *pathX86) {
	for r := range p.regs {
		if p.regs[r] != other.regs[r] {
			p.regs[r] = value{}
		}
	}
	maps.DeleteFunc(p.slots, func(at int32, v value) bool { return other.slots[at] != v })
	unmatched := slices.Clone(other.held)
	p.held = slices.DeleteFunc(p.held, func(h heldLockX86) bool {
		i := slices.IndexFunc(unmatched, func(o heldLockX86) bool {
			return o.lock == h.lock && o.read == h.read && o.method == h.method
		})
		if i >= 0 {
			unmatched = slices.Delete(unmatched, i, i+1)
		}
		return i < 0
	})
}

func (a *analysisX86) memory(in *insn, next uint64) value {
	switch {
	case in.RIPRel:
		v := a.valueOf(node{kind: nodeImage})
		v.off = int64(next) + int64(in.Disp)
		return v
	case in.indexed() || in.segment() || in.Base == x86.NoReg:
		return value{}
	}
	return a.path.regs[in.Base&15].plus(int64(in.Disp))
}

func (v value) plus(n int64) value {
	if v.node != 0 {
		v.off += n
	}
	return v
}

func (a *analysisX86) load(at value) value {
	switch n := a.nodes[at.node]; {
	case at.node == 0 || n.kind == nodeConstant:
		return value{}
	case at.node == stackNode:
		if v, ok := a.path.slots[int32(at.off)]; ok {
			return v
		}
		return a.valueOf(node{kind: nodeSlot, at: at.off})
	}
	return a.valueOf(node{kind: nodeLoad, base: at.node, at: at.off})
}

func (a *analysisX86) step(in *insn, at, next uint64) {
	switch added, adds := in.addsImmediate(); {
	case in.isCall():
		a.call(in, at, next)
	case in.Map == 0 && (a.stepStack(in) || a.stepMove(in, next)):
	case in.zeroes():
		a.path.regs[in.Reg] = a.constant(0)
	case in.W && adds:
		a.path.regs[in.RM] = a.path.regs[in.RM].plus(added)
	case a.name != nil && in.Map == 1 && in.Op == 0xb1 && !in.hasRegisterOperand(): // cmpxchg mem, reg
		if a.isConstant(a.path.regs[0], 0) && a.isConstant(a.path.regs[in.Reg], 1) {
			a.acquire(a.memory(in, next), false, at)
		}
		a.path.regs[0] = value{}
	case a.name != nil && in.Map == 1 && in.Op == 0xc1 && !in.hasRegisterOperand(): // xadd mem, reg
		a.add(in, at, next)
		a.path.regs[in.Reg] = value{}
	default:
		a.clobber(in, next)
	}
}

// stepStack interprets pushes and pops whose opcode has one byte.
func (a *analysisX86) stepStack(in *insn) bool {
	regs := &a.path.regs
	switch {
	case in.Op&^7 == 0x50: // push reg
		a.push(regs[in.opReg()])
	case in.Op == 0x68, in.Op == 0x6a, in.Op == opPushFlags, in.Op == opGroup5 && in.Reg&7 == 6: // constants, memory
		a.push(value{})
	case in.Op&^7 == 0x58: // pop reg
		v := a.load(regs[regSP])
		regs[regSP] = regs[regSP].plus(8)
		regs[in.opReg()] = v
	case in.Op == opPopFlags:
		regs[regSP] = regs[regSP].plus(8)
	case in.Op == 0x8f: // pop to memory
		regs[regSP] = value{}
		return false
	default:
		return false
	}
	return true
}

func (a *analysisX86) push(v value) {
	to := a.path.regs[regSP].plus(-8)
	a.path.regs[regSP] = to
	a.storeAt(to, v, 8)
}

// storeAt is about the stack only: other memory is taken for unchanged.
func (a *analysisX86) storeAt(to, v value, size int32) {
	if to.node != stackNode {
		return
	}
	at := int32(to.off)
	maps.DeleteFunc(a.path.slots, func(slot int32, _ value) bool { return slot > at-8 && slot < at+size })
	if v.node != 0 {
		a.path.slots[at] = v
	}
}

func (a *analysisX86) stepMove(in *insn, next uint64) bool {
	regs, registers := &a.path.regs, in.hasRegisterOperand()
	switch {
	case in.Op == opLEA && !registers:
		regs[in.Reg] = a.memory(in, next)
	case in.Op == opLoad && registers:
		regs[in.Reg] = regs[in.RM]
	case in.Op == opLoad:
		if v := a.load(a.memory(in, next)); v.node == 0 {
			a.setUnknown(in.Reg, next)
		} else {
			regs[in.Reg] = v
		}
		if !in.W {
			regs[in.Reg] = value{}
		}
	case in.Op == opStore && registers:
		regs[in.RM] = regs[in.Reg]
	case in.Op == opMoveImmediate && registers:
		regs[in.RM] = a.constant(in.Imm)
	case in.Op == opStore, in.Op == opMoveImmediate:
		a.store(in, next)
	case in.Op&^7 == 0xb8: // mov reg, imm
		regs[in.opReg()] = a.constant(in.Imm)
	default:
		return false
	}
	return true
}

// setUnknown gives a register a value of its own, so that copies of it on the stack are known to be equal.
func (a *analysisX86) setUnknown(reg uint8, at uint64) {
	v := a.valueOf(node{kind: nodeCall, reg: reg, at: int64(at)})
	a.path.forget(v.node) // of the loop's last round
	a.path.regs[reg] = v
}

func (p *pathX86) forget(node uint32) {
	for r := range p.regs {
		if p.regs[r].node == node {
			p.regs[r] = value{}
		}
	}
	maps.DeleteFunc(p.slots, func(_ int32, v value) bool { return v.node == node })
	p.held = slices.DeleteFunc(p.held, func(h heldLockX86) bool { return h.lock.node == node })
}

func (a *analysisX86) store(in *insn, next uint64) {
	v := value{}
	if in.Op == opStore && in.W {
		v = a.path.regs[in.Reg]
	}
	a.storeAt(a.memory(in, next), v, 8)
}

func (a *analysisX86) call(in *insn, at, next uint64) {
	if a.name != nil {
		a.callLock(in, at, next)
	}
	for r := range a.path.regs {
		if a.kept>>r&1 == 0 {
			a.setUnknown(uint8(r), at)
		}
	}
}

func (a *analysisX86) clobber(in *insn, next uint64) {
	written := (*x86.Inst)(in).WrittenRegs()
	for r := range a.path.regs {
		if written>>r&1 != 0 {
			a.path.regs[r] = value{}
		}
	}
	if !in.writesMemory() {
		return
	}
	size := int32(8)
	if in.Map == x86.Map0F && !in.VEX && in.Op == 0x11 { // movups, movss: Go zeroes by movups [rsp+n], xmm15
		size = 16
	} else if in.Map != 0 {
		size = 64 // the longest vector
	}
	a.storeAt(a.memory(in, next), value{}, size)
}

// # The stack pointer of functions that load it
//
// To these pcsp does not apply.

const maxFlowBytes = 1 << 13

// Registers that C functions and Go's assembly keep, by their numbers in instructions.
const keptByAssembly = 1<<3 | 1<<regSP | 1<<regBP | 0xf<<12

const maxPaths = 1 << 12

// pathAt returns the state before the instruction at pc, or false if no path is known to lead there.
func (t *rules) pathAt(f *funcInfo, pc uint64) (*pathX86, bool) {
	p, known := t.paths[pc]
	if !known {
		a, code := newAnalysisX86(nil, keptByAssembly), t.funcs.codeOf(f)
		if p = a.at(code, f.entry, pc, false); p != nil && p.regs[regSP].node != stackNode {
			a.popsToReturn(p, code, f.entry, pc)
		}
		cache.Put(&t.paths, maxPaths, pc, p)
	}
	return p, p != nil
}

// popsToReturn sets the stack pointer by the instructions from pc up to a return, if these only add to it. A call may
// not return.
func (a *analysisX86) popsToReturn(p *pathX86, code []byte, entry, pc uint64) {
	a.path = pathX86{slots: map[int32]value{}}
	a.path.regs[regSP] = value{node: stackNode}
	walkX86(entry, code, func(in *insn, next uint64) bool {
		switch continues, jumps := in.successors(); {
		case next <= pc:
			return true
		case in.Map == 0 && in.Op == opRet:
			p.regs[regSP] = value{stackNode, -a.path.regs[regSP].off}
			return false
		case !continues || jumps || in.isCall():
			return false
		}
		a.step(in, next-uint64(in.Size), next)
		return a.path.regs[regSP].node == stackNode
	})
}

// stackIn returns the distance from a register to the CFA, if the register has an address on the function's stack.
func (p *pathX86) stackIn(reg uint8) (off int32, ok bool) {
	v := p.regs[reg]
	return int32(8 - v.off), v.node == stackNode
}

// keeps reports whether a register has its value of the function's start.
func (p *pathX86) keeps(reg uint8) bool { return p.regs[reg] == value{node: argNodes + uint32(reg)} }

// saved returns how far below the CFA a register's value at the function's start is, or 0 if it is not saved.
func (p *pathX86) saved(reg uint8) (off int64) {
	for at, v := range p.slots {
		popped := p.keeps(reg) && p.regs[regSP].node == stackNode && int64(at) < p.regs[regSP].off
		if v == (value{node: argNodes + uint32(reg)}) && at < 0 && !popped && (off == 0 || int64(8-at) < off) {
			off = int64(8 - at)
		}
	}
	return off
}
