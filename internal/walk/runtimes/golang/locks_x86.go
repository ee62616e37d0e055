// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"maps"
	"slices"

	"prywalk/internal/code/x86"
	"prywalk/internal/walk/managed"
)

// # Locks taken by a function before a call
//
//	lea rcx, [rip+main.mu]      lock cmpxchg [rcx], edx    with eax 0, edx 1: taken (Mutex.Lock, inlined)
//	lock xadd [rcx], eax        with eax -1: released (Mutex.Unlock, inlined)
//	call sync.(*RWMutex).RLock  with the lock's address in rax
//
// A Go function is interpreted by ascending address, again until the states at the targets of backward jumps stay the
// same: the body of a for loop is often reached by such a jump only. A value is an origin (node) plus a constant. Where
// paths join, equal values and common locks are kept. Releases by other goroutines are not seen: the result is likely,
// not proven.
//
// Sources: Intel SDM volume 2 (tables ); cmd/compile/abi-internal.md (arguments in registers).

type nodeKind uint8

const (
	nodeAny nodeKind = iota
	nodeConstant
	nodeImage // file address
	nodeStack
	nodeArg  // register at the function's start
	nodeCall // register after a call, or after a load from an unknown address
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

// value is nodes[node] + off. Node 0: unknown.
type value struct {
	node uint32
	off  int64
}

type heldLockX86 struct {
	lock   value
	read   bool
	at     uint64
	method value // what an interface's method must turn out to be: a lock's; node 0: the call named it
}

// heldLocksX86 are the locks held at a call, with the origins of their addresses.
type heldLocksX86 struct {
	nodes []node
	lockStateX86
}

type lockStateX86 struct {
	slots        map[int32]value // by offset from rsp
	held         []heldLockX86
	awaited      value // lock of the last call
	viaInterface value // what may be a lock of the last call
}

type pathX86 struct {
	regs [16]value
	lockStateX86
}

type lockAnalysisX86 struct {
	name    func(pc uint64) string
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

func (t *funcs) findLocksX86(pc uint64) *heldLocksX86 {
	f, ok := t.find(pc - 1)
	if !ok || isLockMethod(string(t.name(&f))) {
		return &heldLocksX86{}
	}
	return analyseLocksX86(t.codeOf(&f), f.entry, pc, t.functionAt)
}

// functionAt returns the name of the function that begins at an address.
func (t *funcs) functionAt(at uint64) string {
	f, ok := t.find(at)
	if !ok || f.entry != at {
		return ""
	}
	return string(t.name(&f))
}

// analyseLocksX86 interprets code, which begins at entry, and returns the locks held before pc; an unknown instruction
// before pc leaves none.
// name returns the function that begins at an address.
func analyseLocksX86(code []byte, entry, pc uint64, name func(uint64) string) *heldLocksX86 {
	a := lockAnalysisX86{name: name, nodes: []node{{}}, number: map[node]uint32{}, loops: map[uint64]*pathX86{}}
	var before *pathX86
	for range maxPasses {
		if before = a.pass(code, entry, pc); before == nil || !a.changed {
			break
		}
	}
	if before == nil || a.changed {
		return &heldLocksX86{}
	}
	return &heldLocksX86{a.nodes, before.lockStateX86}
}

// pass returns the state before pc, nil if it is unknown.
func (a *lockAnalysisX86) pass(code []byte, entry, pc uint64) (before *pathX86) {
	a.path, a.pending = pathX86{lockStateX86: lockStateX86{slots: map[int32]value{}}}, map[uint64]*pathX86{}
	a.reached, a.changed = true, false
	for r := range a.path.regs {
		a.path.regs[r] = a.valueOf(node{kind: nodeArg, reg: uint8(r)})
	}
	fallsThrough := true
	walkX86(entry, code, func(in *insn, next uint64) bool {
		at := next - uint64(in.Size)
		a.joinAt(at, fallsThrough)
		if a.reached {
			a.step(in, at, next)
		}
		var jumps bool
		if fallsThrough, jumps = in.successors(); jumps && a.reached {
			a.jump(next, next+uint64(in.Imm))
		}
		switch {
		case next != pc:
		case a.reached:
			before = a.path.clone()
		default:
			before = &pathX86{}
		}
		return true
	})
	return before
}

func (p *pathX86) clone() *pathX86 {
	return &pathX86{p.regs, lockStateX86{maps.Clone(p.slots), slices.Clone(p.held), p.awaited, p.viaInterface}}
}

// lockMethod is of a method of the lock in rax. take: it is taken, else released; read: for reading.
type lockMethod struct{ take, read bool }

var lockMethods = map[string]lockMethod{
	"sync.(*Mutex).Lock": {take: true}, "internal/sync.(*Mutex).Lock": {take: true}, "sync.(*RWMutex).Lock": {take: true},
	"sync.(*Mutex).Unlock": {}, "internal/sync.(*Mutex).Unlock": {}, "sync.(*RWMutex).Unlock": {},
	"sync.(*RWMutex).RLock": {take: true, read: true}, "sync.(*RWMutex).RUnlock": {read: true},
	// RWMutex.RLocker: the same address
	"sync.(*rlocker).Lock": {take: true, read: true}, "sync.(*rlocker).Unlock": {read: true},
}

func isLockMethod(name string) bool {
	_, ok := lockMethods[name]
	return ok || slices.Contains([]string{"internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).lockSlow",
		"internal/sync.(*Mutex).unlockSlow", "sync.(*Mutex).unlockSlow"}, name)
}

func (a *lockAnalysisX86) valueOf(n node) value {
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

func (a *lockAnalysisX86) constant(n int64) value {
	v := a.valueOf(node{kind: nodeConstant})
	v.off = int64(int32(n))
	return v
}

func (a *lockAnalysisX86) isConstant(v value, n int32) bool {
	return a.nodes[v.node].kind == nodeConstant && int32(v.off) == n
}

func (a *lockAnalysisX86) jump(from, to uint64) {
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

// joinAt joins the states of all paths to an instruction. fallsThrough: the instruction before continues there.
func (a *lockAnalysisX86) joinAt(at uint64, fallsThrough bool) {
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

func (a *lockAnalysisX86) memory(in *insn, next uint64) value {
	switch {
	case in.RIPRel:
		v := a.valueOf(node{kind: nodeImage})
		v.off = int64(next) + int64(in.Disp)
		return v
	case in.indexed() || in.segment() || in.Base == x86.NoReg:
		return value{}
	case in.Base == regSP:
		v := a.valueOf(node{kind: nodeStack})
		v.off = int64(in.Disp)
		return v
	}
	v := a.path.regs[in.Base&15]
	if v.node != 0 {
		v.off += int64(in.Disp)
	}
	return v
}

func (a *lockAnalysisX86) load(at value) value {
	switch n := a.nodes[at.node]; {
	case at.node == 0 || n.kind == nodeConstant:
		return value{}
	case n.kind == nodeStack:
		if v, ok := a.path.slots[int32(at.off)]; ok {
			return v
		}
		return a.valueOf(node{kind: nodeSlot, at: at.off})
	}
	return a.valueOf(node{kind: nodeLoad, base: at.node, at: at.off})
}

func (a *lockAnalysisX86) step(in *insn, at, next uint64) {
	switch {
	case in.isCall():
		a.call(in, at, next)
	case in.Map == 0 && a.stepMove(in, next):
	case in.zeroes():
		a.path.regs[in.Reg] = a.constant(0)
	case in.W && in.immediateOperation() == operationAdd && in.hasRegisterOperand() && a.path.regs[in.RM].node != 0:
		a.path.regs[in.RM].off += in.Imm
	case in.Map == 1 && in.Op == 0xb1 && !in.hasRegisterOperand(): // cmpxchg mem, reg
		if a.isConstant(a.path.regs[0], 0) && a.isConstant(a.path.regs[in.Reg], 1) {
			a.acquire(a.memory(in, next), false, at)
		}
		a.path.regs[0] = value{}
	case in.Map == 1 && in.Op == 0xc1 && !in.hasRegisterOperand(): // xadd mem, reg
		a.add(in, at, next)
		a.path.regs[in.Reg] = value{}
	default:
		a.clobber(in)
	}
}

func (a *lockAnalysisX86) stepMove(in *insn, next uint64) bool {
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
func (a *lockAnalysisX86) setUnknown(reg uint8, at uint64) {
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

func (a *lockAnalysisX86) store(in *insn, next uint64) {
	to := a.memory(in, next)
	if a.nodes[to.node].kind != nodeStack {
		return
	}
	a.clobberSlots(int32(to.off), 8)
	if v := a.path.regs[in.Reg]; in.Op == opStore && in.W && v.node != 0 {
		a.path.slots[int32(to.off)] = v
	}
}

// readerCount is an offset in sync/rwmutex.go. RLock adds 1 to it, RUnlock subtracts 1.
const readerCount = 16

func (a *lockAnalysisX86) add(in *insn, at, next uint64) {
	lock := a.memory(in, next)
	if lock.node == 0 {
		return
	}
	readers := value{lock.node, lock.off - readerCount}
	switch summand := a.path.regs[in.Reg]; {
	case a.isConstant(summand, 1):
		a.acquire(readers, true, at)
	case a.isConstant(summand, -1):
		a.release(lock, false)
		a.release(readers, true)
	}
}

func (a *lockAnalysisX86) call(in *insn, at, next uint64) {
	a.path.awaited, a.path.viaInterface = value{}, value{}
	if in.Op != opCall {
		a.callMethod(in, at, next)
	} else {
		lock, name := a.path.regs[0], a.name(next+uint64(in.Imm))
		switch {
		case isLockMethod(name):
			a.path.awaited = lock
		case name == "sync.runtime_SemacquireRWMutexR": // of RLock, inlined
			a.path.awaited = value{lock.node, lock.off - managed.ReaderSema}
		}
		switch m, ok := lockMethods[name]; {
		case m.take:
			a.acquire(lock, m.read, at)
		case ok:
			a.release(lock, m.read)
		}
	}
	for r := range a.path.regs {
		if a.path.regs[r] = (value{}); r != regSP {
			a.setUnknown(uint8(r), at)
		}
	}
}

// Offsets of sync.Locker's methods in an itab (internal/abi/iface.go).
const (
	itabLock   = 24
	itabUnlock = 32
)

// callMethod is for calls that may be of sync.Locker's methods, with the interface's data in rax.
func (a *lockAnalysisX86) callMethod(in *insn, at, next uint64) {
	method, lock := a.path.regs[in.RM&15], a.path.regs[0]
	if !in.hasRegisterOperand() {
		method = a.load(a.memory(in, next))
	}
	switch n := a.nodes[method.node]; {
	case n.kind != nodeLoad || method.off != 0 || lock.node == 0:
	case n.at == itabLock:
		a.path.viaInterface = lock
		a.path.held = append(a.path.held, heldLockX86{lock: lock, at: at, method: method})
	case n.at == itabUnlock:
		taken := a.valueOf(node{kind: nodeLoad, base: n.base, at: itabLock})
		i := slices.IndexFunc(a.path.held, func(h heldLockX86) bool { return h.lock == lock && h.method == taken })
		if i >= 0 {
			a.path.held = slices.Delete(a.path.held, i, i+1)
		}
	}
}

func (a *lockAnalysisX86) acquire(lock value, read bool, at uint64) {
	if lock.node != 0 {
		a.path.held = append(a.path.held, heldLockX86{lock: lock, read: read, at: at})
	}
}

func (a *lockAnalysisX86) release(lock value, read bool) {
	for i := len(a.path.held) - 1; i >= 0; i-- {
		if h := &a.path.held[i]; h.lock == lock && h.read == read && h.method.node == 0 {
			a.path.held = slices.Delete(a.path.held, i, i+1)
			return
		}
	}
}

func (a *lockAnalysisX86) clobber(in *insn) {
	written := (*x86.Inst)(in).WrittenRegs()
	for r := range a.path.regs {
		if written>>r&1 != 0 {
			a.path.regs[r] = value{}
		}
	}
	switch {
	case !in.writesMemory() || in.Base != regSP:
	case in.Map == x86.Map0F && !in.VEX && in.Op == 0x11: // movups, movss: Go zeroes by movups [rsp+n], xmm15
		a.clobberSlots(in.Disp, 16)
	case in.Map != 0:
		a.clobberSlots(in.Disp, 64) // the longest vector
	default:
		a.clobberSlots(in.Disp, 8)
	}
}

func (a *lockAnalysisX86) clobberSlots(at int32, size int32) {
	maps.DeleteFunc(a.path.slots, func(slot int32, _ value) bool { return slot > at-8 && slot < at+size })
}

const maxLoads = 4

func (h *heldLocksX86) value(f lockFrame, v value, depth int) (uint64, bool) {
	if v.node == 0 || depth > maxLoads {
		return 0, false
	}
	if v.node == h.awaited.node && f.awaited != 0 {
		return f.awaited + uint64(v.off-h.awaited.off), true
	}
	if h.nodes[v.node].kind == nodeImage { // known without the stack, which may change
		return uint64(v.off) + f.bias, true
	}
	for at, has := range h.slots {
		if has.node == v.node {
			n, ok := f.word(f.sp + uint64(int64(at)))
			return n + uint64(v.off-has.off), ok
		}
	}
	switch n := h.nodes[v.node]; n.kind {
	case nodeStack:
		return f.sp + uint64(v.off), true
	case nodeSlot:
		at, ok := f.word(f.sp + uint64(n.at))
		return at + uint64(v.off), ok
	case nodeLoad:
		pointer, ok := h.value(f, value{n.base, n.at}, depth+1)
		if !ok {
			return 0, false
		}
		at, ok := f.word(pointer)
		return at + uint64(v.off), ok
	}
	return 0, false
}
