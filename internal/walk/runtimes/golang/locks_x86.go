// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"

	"prywalk/internal/walk/managed"
)

// # Locks taken by a function before a call
//
//	lea rcx, [rip+main.mu]      lock cmpxchg [rcx], edx    with eax 0, edx 1: taken (Mutex.Lock, inlined)
//	lock xadd [rcx], eax        with eax -1: released (Mutex.Unlock, inlined)
//	call sync.(*RWMutex).RLock  with the lock's address in rax
//
// Releases by other goroutines are not seen: the result is likely, not proven.

type heldLockX86 struct {
	lock   value
	read   bool
	at     uint64
	method value // what an interface's method must turn out to be: a lock's; with node 0 the call named it
}

// heldLocksX86 are the locks held at a call, with the origins of their addresses.
type heldLocksX86 struct {
	nodes []node
	path  pathX86
}

// analyseLocksX86 returns the locks held before pc, none if the stack pointer is unknown there. name returns the
// function that begins at an address. sp is of pcsp, or nil.
func analyseLocksX86(code []byte, entry, pc uint64, name func(uint64) string, sp *steps) *heldLocksX86 {
	a := newAnalysisX86(name, 1<<regSP)
	a.sp = sp
	before := a.at(code, entry, pc, true)
	if before == nil || before.regs[regSP].node != stackNode {
		return &heldLocksX86{}
	}
	return &heldLocksX86{a.nodes, *before}
}

func (t *funcs) findLocksX86(pc uint64) *heldLocksX86 {
	f, ok := t.find(pc - 1)
	if !ok || isLockMethod(string(t.name(&f))) {
		return &heldLocksX86{}
	}
	sp := t.steps(f.pcsp, f.entry)
	return analyseLocksX86(t.codeOf(&f), f.entry, pc, t.functionAt, &sp)
}

// functionAt returns the name of the function that begins at an address.
func (t *funcs) functionAt(at uint64) string {
	f, ok := t.find(at)
	if !ok || f.entry != at {
		return ""
	}
	return string(t.name(&f))
}

// lockMethod is of a method of the lock in rax. take means taken, else it is released; read means for reading.
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

// readerCount is an offset in sync/rwmutex.go. RLock adds 1 to it, RUnlock subtracts 1.
const readerCount = 16

func (a *analysisX86) add(in *insn, at, next uint64) {
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

func (a *analysisX86) callLock(in *insn, at, next uint64) {
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
}

// Offsets of sync.Locker's methods in an itab (internal/abi/iface.go).
const (
	itabLock   = 24
	itabUnlock = 32
)

// callMethod is for calls that may be of sync.Locker's methods, with the interface's data in rax.
func (a *analysisX86) callMethod(in *insn, at, next uint64) {
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

func (a *analysisX86) acquire(lock value, read bool, at uint64) {
	if lock.node != 0 {
		a.path.held = append(a.path.held, heldLockX86{lock: lock, read: read, at: at})
	}
}

func (a *analysisX86) release(lock value, read bool) {
	for i := len(a.path.held) - 1; i >= 0; i-- {
		if h := &a.path.held[i]; h.lock == lock && h.read == read && h.method.node == 0 {
			a.path.held = slices.Delete(a.path.held, i, i+1)
			return
		}
	}
}

const maxLoads = 4

func (h *heldLocksX86) value(f lockFrame, v value, depth int) (uint64, bool) {
	if v.node == 0 || depth > maxLoads {
		return 0, false
	}
	if v.node == h.path.awaited.node && f.awaited != 0 {
		return f.awaited + uint64(v.off-h.path.awaited.off), true
	}
	if h.nodes[v.node].kind == nodeImage { // known without the stack, which may change
		return uint64(v.off) + f.bias, true
	}
	start := f.sp - uint64(h.path.regs[regSP].off)
	for at, has := range h.path.slots {
		if has.node == v.node {
			n, ok := f.word(start + uint64(int64(at)))
			return n + uint64(v.off-has.off), ok
		}
	}
	switch n := h.nodes[v.node]; n.kind {
	case nodeStack:
		return start + uint64(v.off), true
	case nodeSlot:
		at, ok := f.word(start + uint64(n.at))
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
