// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/runtimes/hotspot/aarch64"
)

// Options says what a [VM] reads.
type Options struct {
	// Arch is that of the process.
	Arch frames.Arch
	// Symbol gives the run-time address of a symbol of libjvm.so; false if it has none.
	Symbol func(name string) (uint64, bool)
	// Read reads memory and gives the number of bytes.
	Read func(addr uint64, b []byte) int
	// ReadCode reads instructions likewise, and remembers what of them was read, so that its
	// owner learns when they change.
	ReadCode func(addr uint64, b []byte) int
	// Gather reads several places in one call, as [managed.Gatherer] says; nil: they are read one by one.
	Gather func(parts []frames.Region) int
	// Flow may be nil: then words that compiled code has pushed are not seen in most places.
	Flow Flow
}

// Flow follows instructions ([prywalk/heuristics.Source] does).
type Flow interface {
	// ReturnCFA gives the CFA at pc by the way from there to a return, which stays between lo and hi; false if there is
	// none.
	ReturnCFA(pc, lo, hi uint64) (heuristics.CFA, bool)
	// ReturnAddress gives where the return address is at pc in code between lo and hi that has no frame, by the way from
	// its entry; false if there is none.
	ReturnAddress(pc, lo, hi uint64) (heuristics.Return, bool)
	// LevelAfter reports whether the stack pointer stays as it is behind pc, up to the next jump.
	LevelAfter(pc uint64) bool
}

// VM is the virtual machine of one process. It implements [frames.RuleSource] for run-time addresses. It is
// for one goroutine at a time.
type VM struct {
	o       Options
	mem     memory
	buf     [maxEntry]byte // of code
	head    [maxHeader]byte
	layout  *layout
	heaps   []heap
	header  uint64              // bytes from a block's start that hold what is read of it
	kinds   map[uint64]blobName // by the name's address
	seen    map[uint64]blob     // what rules were made from, by its code's start; blank where nothing was
	known   map[uint64]blob     // the same by the address that was asked for
	whole   []blob              // those that last: they answer for all addresses in them, until they are others
	pieces  codelets
	proof   proof
	doubts  int // how often the proof has failed
	names   *Names
	version string
	near    *near
	a64     *aarch64.Rules // nil on x86-64
	// senderTries is how often the interpreter was searched for what a64 needs to know of it.
	senderTries int
}

// UnknownError says why a virtual machine's code is not read.
type UnknownError struct {
	Reason string
	// NotYet: what it is read from has no contents. So it is while the file is being loaded.
	NotYet bool
}

// Error implements error.
func (e *UnknownError) Error() string {
	return "the Java virtual machine's code is not known: " + e.Reason +
		"; its frames are found by their instructions alone"
}

// New reads the tables that libjvm.so describes itself with. JDK 8, 11, 17, 21 and 25 to 28 have what is needed. The
// error is an [*UnknownError].
func New(o Options) (*VM, error) {
	if o.Arch != frames.X86_64 && o.Arch != frames.AArch64 {
		return nil, &UnknownError{Reason: "it is not one for x86-64 or arm64"}
	}
	v := &VM{o: o, kinds: map[uint64]blobName{}, seen: map[uint64]blob{}, known: map[uint64]blob{}}
	l, err := readLayout(o.Read, o.Symbol)
	if err != nil {
		return nil, err
	}
	v.layout, v.near = l, newNear(v)
	if o.Arch == frames.AArch64 {
		v.a64 = &aarch64.Rules{Code: v.code}
	}
	var ok bool
	if v.header, ok = l.headerSize(); !ok {
		return nil, &UnknownError{Reason: "the header of a piece of code is larger than any known"}
	}
	return v, nil
}

// proof says whether the tables mean what they are taken for.
type proof uint8

const (
	proofOpen proof = iota
	proofHolds
	proofFails
)

// maxDoubts is how often the proof may fail before it counts: while the machine starts, it is between two states.
const maxDoubts = 64

// Unknown gives why the code is not read, nil if it is or may yet be.
func (v *VM) Unknown() error {
	if v.proof != proofFails {
		return nil
	}
	return &UnknownError{Reason: "the place of its interpreter and the headers of its code do not agree"}
}

// proven reports whether two ways to the interpreter's code lead to the same place. One is the variable that says where
// it is. The other leads over the heaps, the map of segments, and the header of the piece of code there, with its name
// and its bounds. They have no field in common, so that offsets that are wrong in either do not agree. Until then, no
// address is known.
func (v *VM) proven() bool {
	if v.proof != proofOpen {
		return v.proof == proofHolds
	}
	m, l := v.memory(), v.layout
	queue := m.word(l.static("AbstractInterpreter::_code"))
	if m.failed || queue == 0 || len(v.heaps) == 0 {
		return false
	}
	at := m.word(queue + l.off("StubQueue::_stub_buffer"))
	end := at + uint64(max(m.int32(queue+l.off("StubQueue::_buffer_limit")), 0))
	failed := m.failed
	v.proof = proofHolds // for what follows
	b, ok := v.blobAt(at)
	if ok && !failed && b.kind == kindInterpreter && end > at && end <= b.end {
		return true
	}
	v.proof = proofOpen
	if v.doubts++; v.doubts >= maxDoubts {
		v.proof = proofFails
	}
	return false
}

// starting reports whether the proof is open: the machine has not made its interpreter.
func (v *VM) starting() bool { return v.proof == proofOpen && !v.proven() }

// Reserved reports whether an address is in the code cache, whether or not its tables are proven yet.
func (v *VM) Reserved(addr uint64) bool {
	if v.inHeaps(addr) == nil {
		v.heaps = v.readHeaps()
	}
	return v.inHeaps(addr) != nil
}

// memory gives the process's memory, without the error of the last who read.
func (v *VM) memory() *memory {
	if v.mem.read, v.mem.failed = v.o.Read, false; v.near.on {
		v.mem.read = v.near.through
	}
	return &v.mem
}

// code reads at most maxEntry bytes of instructions. They are there until it is called again.
func (v *VM) code(addr, n uint64) []byte {
	b := v.buf[:min(n, maxEntry)]
	return b[:v.o.ReadCode(addr, b)]
}

// Contains reports whether an address is in the code cache.
func (v *VM) Contains(addr uint64) bool { return v.heapOf(addr) != nil }

// Describe gives the name of the piece of code that an address is in, as the machine calls it: "nmethod" for a compiled
// method, "Interpreter", and so on. Empty if there is none.
func (v *VM) Describe(pc uint64) string {
	h := v.heapOf(pc)
	if h == nil {
		return ""
	}
	m, l := v.memory(), v.layout
	at, ok := h.block(m, pc)
	if head := v.head[:]; ok && m.bytes(at, head[:v.header]) && head[l.used()] != 0 {
		return m.name(wordAt(head[l.sizes["HeapBlock"]+l.off("CodeBlob::_name"):]))
	}
	return ""
}

// FuncRange gives the bounds of a compiled method or of a stub with a frame of its own; false for the
// blobs that hold many pieces of code.
func (v *VM) FuncRange(pc uint64) (start, end uint64, ok bool) {
	b, ok := v.find(pc)
	return b.begin, b.end, ok && b.kind == kindMethod
}

// maxSeen bounds what is remembered; beyond that, Changed says so. maxWhole bounds the blobs that last: a JVM has some
// five.
const (
	maxSeen  = 1 << 14
	maxWhole = 16
)

// find is blobAt, and remembers the answer. Until Changed says otherwise that holds, as do the rules made from it.
func (v *VM) find(pc uint64) (blob, bool) {
	if b, ok := v.lasting(pc); ok {
		return b, true
	}
	if b, ok := v.known[pc]; ok {
		return b, true
	}
	b, ok := v.blobAt(pc)
	if ok && b.kind.lasts() && len(v.whole) < maxWhole {
		v.whole = append(v.whole, b)
		return b, true
	}
	if ok && len(v.known) < maxSeen {
		v.known[pc] = b
	}
	switch {
	case len(v.seen) > maxSeen:
	case ok:
		v.seen[b.begin] = b
	case v.heapOf(pc) != nil:
		v.seen[pc] = blob{}
	}
	return b, ok
}

// lasting gives the blob that lasts an address is in; false if it is in none that is known.
func (v *VM) lasting(pc uint64) (blob, bool) {
	for _, b := range v.whole {
		if pc >= b.begin && pc < b.end {
			return b, true
		}
	}
	return blob{}, false
}

// Changed reports whether any answer would be another one by now, and forgets them all if so: methods are
// compiled, and dropped, all the time.
func (v *VM) Changed() bool {
	changed := len(v.seen) > maxSeen
	for pc, was := range v.seen {
		if changed {
			break
		}
		now, ok := v.blobAt(pc)
		changed = ok != (was != blob{}) || ok && now != was
	}
	for _, was := range v.whole {
		if now, ok := v.blobAt(was.begin); !ok || now != was {
			changed, v.whole = true, nil
			break
		}
	}
	if changed {
		v.Forget()
	}
	return changed
}

// Forget drops what is remembered of code, but not of the blobs that last: they are the machine's own, like the heaps.
func (v *VM) Forget() {
	clear(v.seen)
	clear(v.known)
}

// Rule implements [frames.RuleSource].
func (v *VM) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	b, ok := v.find(q.PC)
	if q.Caller && !ok {
		b, ok = v.find(q.PC - 1)
	}
	if !ok {
		return frames.Rule{}, nil, false
	}
	if v.a64 != nil {
		return v.ruleA64(&b, &q)
	}
	if q.Caller {
		return v.caller(&b, &q)
	}
	switch b.kind {
	case kindMethod:
		return v.inMethod(&b, q.PC)
	case kindInterpreter:
		if !q.SPOnly {
			return v.inInterpreter(&b, q.PC)
		}
	case kindRoutines:
		return v.inBarrier(&b, &q)
	case kindAdapter:
		return v.inAdapter(&b, &q)
	case kindException:
		return v.inException(&b, q.PC)
	case kindHandles:
		return v.inHandles(q.PC)
	case kindDispatch:
		return called(frames.X86RSP, 8, frames.MethodCFI)
	}
	return frames.Rule{}, nil, false
}

// caller gives the rule at a return address.
func (v *VM) caller(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	switch {
	case b.kind == kindMethod && b.frame > 0:
		usual := 8 * (b.frame + pushed(v.code(q.PC, maxEnd)))
		if v.o.Flow != nil && !v.o.Flow.LevelAfter(q.PC) {
			return v.balanced(b, q.PC, usual)
		}
		return framed(usual), nil, true
	case b.kind == kindException && b.frame > 0:
		return framed(8 * b.frame), nil, true
	case b.kind.assembly():
		if r, row, ok := v.inForward(q.PC); ok || b.kind != kindRoutines {
			return r, row, ok
		}
		return v.inBarrier(b, q)
	case b.kind == kindAdapter:
		return v.inAdapter(b, q)
	case b.kind == kindDeopt && !q.SPOnly:
		// It calls with sp aligned anew, and with rbp as in any frame of C's (generate_deopt_blob).
		r := frames.Rule{CFAReg: frames.X86RBP, CFAOff: 16, Method: frames.MethodCFI}
		r.Saved[0] = 2
		return r, nil, true
	case b.kind == kindInterpreter && !q.SPOnly:
		return v.interpreterCalls(b, q.PC)
	}
	return frames.Rule{}, nil, false
}

// Behind is for a return address in a stub that has saved all registers for the call. It gives the place behind where
// it has them back. What follows there shows how the stub's own frame looks, in which rbp is as it was during the call.
func (v *VM) Behind(q frames.Query) (pc uint64, ok bool) {
	if !q.Caller || v.a64 != nil {
		return 0, false
	}
	if b, ok := v.find(q.PC); !ok || !b.kind.assembly() {
		return 0, false
	}
	code := v.code(q.PC, maxRestores)
	at := bytes.Index(code, restoredAll)
	if at < 0 || !bytes.HasPrefix(code, restoresAll) {
		return 0, false
	}
	return q.PC + uint64(at+len(restoredAll)), true
}

// framed is the rule where the CFA is so far above sp, with the caller's rbp below the return address.
func framed(size int32) frames.Rule {
	r := frames.Rule{CFAReg: frames.X86RSP, CFAOff: size, Method: frames.MethodCFI}
	r.Saved[0] = 2
	return r
}

// interpreted is the rule of the interpreter's frames: above rbp lie the caller's rbp and the return
// address, below it the caller's stack pointer as it was without arguments.
var interpreted = frames.Row{
	CFAReg: frames.X86RBP, CFAOff: -8, CFADeref: true,
	RA: frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBP, Off: 8},
	Regs: [frames.NumRegs]frames.RegRule{
		frames.X86RBP: {Kind: frames.RuleRegOffset, Reg: frames.X86RBP},
		frames.X86RBX: {Kind: frames.RuleUndefined},
		frames.X86R12: {Kind: frames.RuleUndefined},
		frames.X86R13: {Kind: frames.RuleUndefined},
		frames.X86R14: {Kind: frames.RuleUndefined},
		frames.X86R15: {Kind: frames.RuleUndefined},
	},
}
