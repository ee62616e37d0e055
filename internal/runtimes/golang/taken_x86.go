// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"maps"
	"slices"

	"prywalk/internal/x86"
)

// # Which locks a function has taken before a call
//
//	lea rcx, [rip+main.mu]      lock cmpxchg [rcx], edx    with eax 0, edx 1: taken (Mutex.Lock, inlined)
//	lock xadd [rcx], eax        with eax -1: released (Mutex.Unlock, inlined)
//	call sync.(*RWMutex).RLock  with the lock's address in rax
//
// The code is followed once, by ascending address. Values are addresses, arguments, results of calls, and loads from
// these. Joining paths keep what is common. Loops, and releases by other goroutines, are not seen: likely, not proven.

type nodeKind uint8

const (
	nodeAny nodeKind = iota // unknown
	nodeNumber
	nodeImage // file address
	nodeStack // stack pointer
	nodeArg   // register at the function's start
	nodeCall  // register behind a call
	nodeSlot  // stack slot
	nodeLoad  // memory at another value
)

type node struct {
	kind nodeKind
	reg  uint8
	at   int64
	of   uint32 // nodeLoad's node
}

type value struct {
	node uint32
	off  int64
}

type heldX86 struct {
	lock value
	read bool
	at   uint64
}

type takenX86 struct {
	nodes []node
	slots map[int32]value
	held  []heldX86
}

type wayX86 struct {
	regs  [16]value
	slots map[int32]value
	held  []heldX86
}

type takerX86 struct {
	name   func(pc uint64) string // of the function at pc
	nodes  []node
	number map[node]uint32
	way    wayX86
	meets  map[uint64]*wayX86
}

const mostMeets = 1 << 10

func (t *funcs) takenX86(pc uint64) *takenX86 {
	f, ok := t.find(pc - 1)
	if !ok || f.end-f.entry > maxFlowBytes || methodOfLock(string(t.name(&f))) {
		return &takenX86{}
	}
	code := make([]byte, f.end-f.entry)
	if !t.img.read(f.entry, code) {
		return &takenX86{}
	}
	return takenInX86(code, f.entry, pc, func(at uint64) string {
		f, ok := t.find(at)
		if !ok || f.entry != at || t.h.old() { // stack arguments until Go 1.17
			return ""
		}
		return string(t.name(&f))
	})
}

func takenInX86(code []byte, entry, pc uint64, name func(uint64) string) *takenX86 {
	k := takerX86{name: name, nodes: []node{{}}, number: map[node]uint32{}, meets: map[uint64]*wayX86{},
		way: wayX86{slots: map[int32]value{}}}
	for r := range k.way.regs {
		k.way.regs[r] = k.of(node{kind: nodeArg, reg: uint8(r)})
	}
	through := true
	walkX86(entry, code, func(in *insn, next uint64) bool {
		at := next - uint64(in.Size)
		if at >= pc {
			return false
		}
		k.meet(at, through)
		k.step(in, at, next)
		var jumps bool
		if through, jumps = in.flow(); jumps {
			k.jump(next, next+uint64(in.Imm))
		}
		return true
	})
	return &takenX86{nodes: k.nodes, slots: k.way.slots, held: k.way.held}
}

func methodOfLock(name string) bool {
	_, _, ok := lockCall(name)
	return ok || slices.Contains([]string{"internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).lockSlow",
		"internal/sync.(*Mutex).unlockSlow", "sync.(*Mutex).unlockSlow"}, name)
}

func lockCall(name string) (take, read, ok bool) {
	switch name {
	case "sync.(*Mutex).Lock", "internal/sync.(*Mutex).Lock", "sync.(*RWMutex).Lock":
		return true, false, true
	case "sync.(*Mutex).Unlock", "internal/sync.(*Mutex).Unlock", "sync.(*RWMutex).Unlock":
		return false, false, true
	case "sync.(*RWMutex).RLock":
		return true, true, true
	case "sync.(*RWMutex).RUnlock":
		return false, true, true
	}
	return false, false, false
}

func (k *takerX86) of(n node) value {
	if n.kind == nodeAny {
		return value{}
	}
	i, ok := k.number[n]
	if !ok {
		i = uint32(len(k.nodes))
		k.nodes = append(k.nodes, n)
		k.number[n] = i
	}
	return value{node: i}
}

func (k *takerX86) numeric(n int64) value {
	v := k.of(node{kind: nodeNumber})
	v.off = int64(int32(n))
	return v
}

func (k *takerX86) isNumber(v value, n int32) bool {
	return k.nodes[v.node].kind == nodeNumber && int32(v.off) == n
}

func (k *takerX86) jump(from, to uint64) {
	if to < from || len(k.meets) >= mostMeets {
		return
	}
	other := wayX86{k.way.regs, maps.Clone(k.way.slots), slices.Clone(k.way.held)}
	if before := k.meets[to]; before != nil {
		other.join(before)
	}
	k.meets[to] = &other
}

// meet joins the states of all ways to an instruction. through reports that the instruction before continues there.
func (k *takerX86) meet(at uint64, through bool) {
	other := k.meets[at]
	delete(k.meets, at)
	switch {
	case other == nil && !through:
		k.way = wayX86{slots: map[int32]value{}}
	case other == nil:
	case !through:
		k.way = *other
	default:
		k.way.join(other)
	}
}

func (a *wayX86) join(b *wayX86) {
	for r := range a.regs {
		if a.regs[r] != b.regs[r] {
			a.regs[r] = value{}
		}
	}
	maps.DeleteFunc(a.slots, func(at int32, v value) bool { return b.slots[at] != v })
	left := slices.Clone(b.held)
	a.held = slices.DeleteFunc(a.held, func(h heldX86) bool {
		i := slices.IndexFunc(left, func(o heldX86) bool { return o.lock == h.lock && o.read == h.read })
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i < 0
	})
}

func (k *takerX86) memory(in *insn, next uint64) value {
	switch {
	case in.RIPRel:
		v := k.of(node{kind: nodeImage})
		v.off = int64(next) + int64(in.Disp)
		return v
	case in.indexed() || in.segment() || in.Base == x86.NoReg:
		return value{}
	case in.Base == mSP:
		v := k.of(node{kind: nodeStack})
		v.off = int64(in.Disp)
		return v
	}
	v := k.way.regs[in.Base&15]
	if v.node != 0 {
		v.off += int64(in.Disp)
	}
	return v
}

func (k *takerX86) load(at value) value {
	switch n := k.nodes[at.node]; {
	case at.node == 0 || n.kind == nodeNumber:
		return value{}
	case n.kind == nodeStack:
		if v, ok := k.way.slots[int32(at.off)]; ok {
			return v
		}
		return k.of(node{kind: nodeSlot, at: at.off})
	}
	return k.of(node{kind: nodeLoad, of: at.node, at: at.off})
}

func (k *takerX86) step(in *insn, at, next uint64) {
	regs := &k.way.regs
	register := in.HasRM && in.Mod == 3
	switch {
	case in.Map == 0 && in.Op == 0xe8, in.Map == 0 && in.Op == 0xff && in.Reg&7 == 2:
		k.call(in, at, next)
	case in.Map == 0 && in.Op == 0x8d && !register:
		regs[in.Reg] = k.memory(in, next)
	case in.Map == 0 && in.Op == 0x8b && register:
		regs[in.Reg] = regs[in.RM]
	case in.Map == 0 && in.Op == 0x8b:
		if regs[in.Reg] = k.load(k.memory(in, next)); !in.W {
			regs[in.Reg] = value{}
		}
	case in.Map == 0 && in.Op == 0x89 && register:
		regs[in.RM] = regs[in.Reg]
	case in.Map == 0 && (in.Op == 0x89 || in.Op == 0xc7) && !register:
		k.store(in, next)
	case in.Map == 0 && in.Op == 0xc7:
		regs[in.RM] = k.numeric(in.Imm)
	case in.Map == 0 && in.Op&0xf8 == 0xb8:
		regs[in.opReg()] = k.numeric(in.Imm)
	case in.Map == 0 && (in.Op == 0x31 || in.Op == 0x33) && register && in.Reg == in.RM:
		regs[in.Reg] = k.numeric(0)
	case in.Map == 0 && (in.Op == 0x81 || in.Op == 0x83) && register && in.W && in.Reg&7 == 0 && regs[in.RM].node != 0:
		regs[in.RM].off += in.Imm
	case in.Map == 1 && in.Op == 0xb1 && !register:
		if k.isNumber(regs[0], 0) && k.isNumber(regs[in.Reg], 1) {
			k.take(k.memory(in, next), false, at)
		}
		regs[0] = value{}
	case in.Map == 1 && in.Op == 0xc1 && !register:
		k.add(in, at, next)
		regs[in.Reg] = value{}
	default:
		k.lose(in, register)
	}
}

func (k *takerX86) store(in *insn, next uint64) {
	to := k.memory(in, next)
	if k.nodes[to.node].kind != nodeStack {
		return
	}
	k.overwrite(int32(to.off), 8)
	if v := k.way.regs[in.Reg]; in.Op == 0x89 && in.W && v.node != 0 {
		k.way.slots[int32(to.off)] = v
	}
}

// readerCount is the offset of RWMutex's readers (sync/rwmutex.go): RLock adds 1, RUnlock subtracts 1.
const readerCount = 16

func (k *takerX86) add(in *insn, at, next uint64) {
	lock := k.memory(in, next)
	if lock.node == 0 {
		return
	}
	readers := value{lock.node, lock.off - readerCount}
	switch by := k.way.regs[in.Reg]; {
	case k.isNumber(by, 1):
		k.take(readers, true, at)
	case k.isNumber(by, -1):
		k.give(lock, false)
		k.give(readers, true)
	}
}

func (k *takerX86) call(in *insn, at, next uint64) {
	if in.Op == 0xe8 {
		lock := k.way.regs[0]
		switch take, read, is := lockCall(k.name(next + uint64(in.Imm))); {
		case is && take:
			k.take(lock, read, at)
		case is:
			k.give(lock, read)
		}
	}
	for r := range k.way.regs {
		if k.way.regs[r] = (value{}); r != mSP {
			k.way.regs[r] = k.of(node{kind: nodeCall, reg: uint8(r), at: int64(at)})
		}
	}
}

func (k *takerX86) take(lock value, read bool, at uint64) {
	if lock.node != 0 {
		k.way.held = append(k.way.held, heldX86{lock, read, at})
	}
}

func (k *takerX86) give(lock value, read bool) {
	for i := len(k.way.held) - 1; i >= 0; i-- {
		if h := &k.way.held[i]; h.lock == lock && h.read == read {
			k.way.held = slices.Delete(k.way.held, i, i+1)
			return
		}
	}
}

func (k *takerX86) lose(in *insn, register bool) {
	regs := &k.way.regs
	if in.Map != 0 {
		if r, ok := in.writesOther(); ok {
			regs[r&15] = value{}
		}
		if in.HasRM && !register && in.Base == mSP && !(in.Map == 1 && in.Op == 0x10) {
			k.overwrite(in.Disp, 64) // the longest vector
		}
		return
	}
	toReg, toRM := false, in.HasRM
	switch op := in.Op; {
	case op < 0x40 && op&7 < 6:
		toReg, toRM = in.HasRM && op&2 != 0, in.HasRM && op&2 == 0
		if compares := op&0xf8 == 0x38; compares {
			return
		}
		if !in.HasRM {
			regs[0] = value{}
		}
	case op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9,
		(op == 0x80 || op == 0x81 || op == 0x83) && in.Reg&7 == 7:
		return
	case op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x8b || op == 0x8d:
		toReg, toRM = true, false
	case op == 0x86 || op == 0x87:
		toReg = true
	case op == 0xf6 || op == 0xf7:
		if in.Reg&7 >= 4 {
			regs[0], regs[2], toRM = value{}, value{}, false
		} else if toRM = in.Reg&7 >= 2; !toRM {
			return
		}
	case op == 0x99 || op == 0x98:
		regs[0], regs[2] = value{}, value{}
	case op >= 0x50 && op < 0x60:
		regs[in.opReg()] = value{}
	}
	if toReg {
		regs[in.Reg&15] = value{}
	}
	switch {
	case toRM && register:
		regs[in.RM&15] = value{}
	case toRM && in.Base == mSP:
		k.overwrite(in.Disp, 8)
	}
}

func (k *takerX86) overwrite(at int32, size int32) {
	maps.DeleteFunc(k.way.slots, func(slot int32, _ value) bool { return slot > at-8 && slot < at+size })
}

const mostDeref = 4

func (k *takenX86) value(f lockFrame, v value, depth int) (uint64, bool) {
	if v.node == 0 || depth > mostDeref {
		return 0, false
	}
	for at, has := range k.slots {
		if has.node == v.node {
			n, ok := f.word(f.sp + uint64(int64(at)))
			return n + uint64(v.off-has.off), ok
		}
	}
	switch n := k.nodes[v.node]; n.kind {
	case nodeImage:
		return uint64(v.off) + f.bias, true
	case nodeStack:
		return f.sp + uint64(v.off), true
	case nodeSlot:
		at, ok := f.word(f.sp + uint64(n.at))
		return at + uint64(v.off), ok
	case nodeLoad:
		of, ok := k.value(f, value{n.of, n.at}, depth+1)
		if !ok {
			return 0, false
		}
		at, ok := f.word(of)
		return at + uint64(v.off), ok
	}
	return 0, false
}
