package frames

import (
	"math/rand/v2"
	"testing"
)

// simFunc is a function of the simulated program.
type simFunc struct {
	start Addr
	size  uint64 // bytes below the CFA
	rule  Rule
	row   *Row // the rule in full, for some
	none  bool // no source knows it
}

// simFrame is an activation.
type simFrame struct {
	fn  *simFunc
	pc  Addr
	cfa Addr
	old [NumRegs]uint64 // what the caller had in its registers
}

// sim is a program that calls and returns by the bytes of an input. Its functions keep
// registers as their rules say; the memory is what a processor would have left.
type sim struct {
	space *Space
	src   *fakeSource
	funcs []simFunc
	stack []simFrame
	mem   Snapshot
	regs  Regs
	rng   *rand.Rand
}

const (
	simTop   = 0x80000
	simBytes = 0x10000
	simSites = 4 // call sites in a function
	simTramp = 0x6000
)

// newSim makes a program: functions with all kinds of rules that the walker knows.
func newSim(rng *rand.Rand) *sim {
	m := &sim{rng: rng, src: &fakeSource{rules: map[Addr]Rule{}, rows: map[Addr]*Row{}}}
	calls := &fakeCalls{calls: map[Addr]Call{}}
	for i := range 24 {
		f := simFunc{start: Addr(0x1000 + 0x100*i), size: 8 * uint64(8+rng.IntN(24))}
		f.rule = Rule{CFAReg: X86RSP, CFAOff: int32(f.size), Method: MethodCFI}
		if rng.IntN(3) == 0 {
			f.rule.CFAReg, f.rule.CFAOff, f.rule.Saved[0] = X86RBP, 16, 2
		}
		for j := 1; j < 6; j++ {
			if rng.IntN(2) == 0 {
				f.rule.Saved[j] = uint8(2 + j)
			}
		}
		switch i % 8 {
		case 3: // as JIT compilers do
			for j := 1; j < 6; j++ {
				f.rule.Saved[j] = 0
			}
			f.row = rowOf(&f.rule)
			f.row.Regs[X86R12], f.row.Regs[X86R13] = Place{Kind: PlaceUndefined}, Place{Kind: PlaceUndefined}
			if rng.IntN(2) == 0 {
				f.row.Regs[X86RBX] = Place{Kind: PlaceUndefined}
			}
		case 4:
			f.row = rowOf(&f.rule)
			if rng.IntN(2) == 0 { // it cannot be kept
				f.row.Regs[X86R15] = Place{Kind: PlaceReg, Reg: X86R14}
			}
		case 5:
			f.rule.Method = MethodHeuristic
		case 6:
			f.rule.Method = MethodFP
		case 7:
			f.none = i > 16
			if i == 15 {
				f.rule = Rule{CFAReg: X86RBP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2}}
				f.row = keepingRow()
			}
		}
		m.funcs = append(m.funcs, f)
		for site := range Addr(simSites) {
			pc := f.start + 0x10 + 8*site
			calls.calls[pc] = Call{}
			if !f.none {
				m.src.rules[pc] = f.rule
			}
			if f.row != nil {
				m.src.rows[pc] = f.row
			}
		}
	}
	m.signal()
	m.space = space(m.src, calls)
	m.mem.Stack = Region{Addr: simTop - simBytes, Bytes: make([]byte, simBytes)}
	m.mem.StackEnd = simTop
	m.regs = *x86Regs(m.funcs[0].start+0x10, simTop-256, 0)
	for r := range uint8(16) {
		if r != X86RSP {
			m.regs.Set(r, rng.Uint64())
		}
	}
	m.src.rules[m.regs.PC] = Rule{Flags: FlagRoot}
	m.stack = []simFrame{{fn: &m.funcs[0], pc: m.regs.PC, cfa: simTop}}
	return m
}

// rowOf gives the row that says what a rule says.
func rowOf(r *Rule) *Row {
	row := &Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff), RA: Place{Kind: PlaceOffset, Off: -8}}
	for i, units := range r.Saved {
		if units != 0 {
			row.Regs[X86_64.CompactRegs()[i]] = Place{Kind: PlaceOffset, Off: -8 * int64(units)}
		}
	}
	return row
}

// keepingRow gives the row of a function that keeps its caller's stack pointer, as HotSpot's interpreter does.
func keepingRow() *Row {
	row := &Row{CFAReg: X86RBP, CFAOff: -8, CFADeref: true, RA: Place{Kind: PlaceRegOffset, Reg: X86RBP, Off: 8}}
	row.Regs[X86RBP] = Place{Kind: PlaceRegOffset, Reg: X86RBP}
	row.Regs[X86R13], row.Regs[X86R14] = Place{Kind: PlaceUndefined}, Place{Kind: PlaceUndefined}
	return row
}

// signal makes the trampoline: rax, the interrupted pc and sp lie at the stack pointer.
func (m *sim) signal() {
	row := &Row{CFAReg: X86RSP, CFAOff: 16, CFADeref: true, RA: Place{Kind: PlaceRegOffset, Reg: X86RSP, Off: 8}}
	row.Regs[X86RAX] = Place{Kind: PlaceRegOffset, Reg: X86RSP}
	m.src.rules[simTramp] = Rule{Flags: FlagSignal, Method: MethodCFI}
	m.src.rows[simTramp] = row
}

func (m *sim) sp() Addr { return m.regs.Val[X86RSP] }

// call enters a function.
func (m *sim) call(f *simFunc) {
	sp := m.sp()
	if sp < m.mem.Stack.Addr+2*f.size+512 {
		return
	}
	m.stack = append(m.stack, simFrame{fn: f, pc: m.regs.PC, cfa: sp, old: m.regs.Val})
	putWord(&m.mem, sp-8, m.regs.PC)
	for i, units := range f.rule.Saved {
		if reg := X86_64.CompactRegs()[i]; units != 0 {
			putWord(&m.mem, sp-8*uint64(units), m.regs.Val[reg])
			m.regs.Val[reg] = m.rng.Uint64()
		}
	}
	if f.row != nil {
		for reg := range f.row.Regs {
			if f.row.Regs[reg].Kind == PlaceUndefined {
				m.regs.Val[reg] = m.rng.Uint64()
			}
		}
		if f.row.CFADeref {
			putWord(&m.mem, sp-24, sp)
		}
	}
	if f.rule.CFAReg == X86RBP {
		m.regs.Val[X86RBP] = sp - 16
	}
	m.regs.Val[X86RSP] = sp - f.size
	m.goOn()
}

// interrupt puts a signal's frame on the stack.
func (m *sim) interrupt() {
	sp := m.sp() - 128 - 24
	if sp < m.mem.Stack.Addr+512 {
		return
	}
	m.stack = append(m.stack, simFrame{pc: m.regs.PC, cfa: m.sp(), old: m.regs.Val})
	putWord(&m.mem, sp, m.regs.Val[X86RAX])
	putWord(&m.mem, sp+8, m.regs.PC)
	putWord(&m.mem, sp+16, m.sp())
	m.regs.Val[X86RSP], m.regs.PC = sp, simTramp
}

// leave returns from the innermost function.
func (m *sim) leave() {
	if len(m.stack) < 2 {
		return
	}
	f := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	m.regs.Val, m.regs.PC = f.old, f.pc
}

// goOn moves to another call site and writes to locals that no rule names.
func (m *sim) goOn() {
	f := m.stack[len(m.stack)-1].fn
	if f == nil || len(m.stack) == 1 {
		return
	}
	m.regs.PC = f.start + 0x10 + 8*Addr(m.rng.IntN(simSites))
	putWord(&m.mem, m.sp(), m.funcs[m.rng.IntN(len(m.funcs))].start+0x10)
	m.regs.Val[X86RAX] = m.rng.Uint64()
}

// step does what a byte of the input says.
func (m *sim) step(op byte) {
	n := int(op>>4) + 1
	switch op & 15 {
	case 0, 1, 2:
		for range n {
			m.call(&m.funcs[m.rng.IntN(len(m.funcs))])
		}
	case 3, 4:
		for range n {
			m.leave()
		}
	case 5:
		for range 4 * n {
			m.call(&m.funcs[n]) // recursion
		}
	case 6:
		m.interrupt()
	case 7: // a register that its function has saved changes
		m.regs.Val[X86RBX] += uint64(n)
	case 8: // memory that no function may write to: a word anywhere
		at := m.sp() + 8*m.rng.Uint64N((simTop-m.sp())/8)
		putWord(&m.mem, at, m.rng.Uint64N(simTop))
	case 9:
		m.space.Forget()
	default:
		m.goOn()
	}
}

// look walks both ways, with what the input says is known.
func (m *sim) look(t testing.TB, p *twice, how byte) {
	t.Helper()
	regs, mem := m.regs, m.mem
	depth := 1 << 20
	switch how & 7 {
	case 1:
		regs.Known = 1 << X86RSP
	case 2:
		depth = 8 + int(how>>3)
	}
	from := m.sp() - m.mem.Stack.Addr
	cut := uint64(simBytes)
	if how&7 == 3 {
		cut = min(from+64*uint64(how), simBytes)
	}
	mem.Stack = Region{Addr: m.sp(), Bytes: m.mem.Stack.Bytes[from:cut]}
	if how&7 == 4 { // the outer half lies in a further piece
		half := len(mem.Stack.Bytes) / 16 * 8
		mem.Others = []Region{{Addr: mem.Stack.Addr + uint64(half), Bytes: mem.Stack.Bytes[half:]}}
		mem.Stack.Bytes = mem.Stack.Bytes[:half]
	}
	p.look(t, m.space, &regs, &mem, depth)
}

// play runs an input.
func play(t testing.TB, seed uint64, input []byte) *twice {
	t.Helper()
	m := newSim(rand.New(rand.NewPCG(seed, 3)))
	p := &twice{}
	for i, op := range input {
		m.step(op)
		if op&15 >= 3 || i%4 == 0 {
			how := byte(0)
			if op&15 > 11 {
				how = input[(i+1)%len(input)]
			}
			m.look(t, p, how)
		}
	}
	return p
}

// TestTrailEqualsTheWalkOfAProgram: random programs call, return, recurse, are interrupted,
// and find words overwritten, while looks see all of it or a part.
func TestTrailEqualsTheWalkOfAProgram(t *testing.T) {
	looks, joins, frames, skipped := 0, 0, 0, 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 5))
		input := make([]byte, 300)
		for i := range input {
			input[i] = byte(rng.Uint32())
			if input[i]&15 == 9 && rng.IntN(8) != 0 || input[i]&15 == 6 && rng.IntN(4) != 0 {
				input[i]++
			}
		}
		p := play(t, seed, input)
		looks, joins, skipped = looks+p.looks, joins+p.joins, skipped+p.skipped
		frames += len(p.stack)
	}
	t.Logf("%d looks, %d joins, %d frames skipped", looks, joins, skipped)
	if joins < looks/4 {
		t.Fatalf("%d joins in %d looks: the test tests little", joins, looks)
	}
}

func FuzzTrail(f *testing.F) {
	f.Add(uint64(1), []byte{0xf0, 0x0a, 0x07, 0x13, 0x00, 0x0c, 0x06, 0x10, 0x0c, 0x21, 0x08, 0x0c})
	f.Add(uint64(2), []byte{0xf5, 0x0c, 0x0d, 0x1a, 0x0e, 0x42, 0x0f, 0x0b, 0x13, 0x0f, 0xff, 0x0e})
	f.Fuzz(func(t *testing.T, seed uint64, input []byte) {
		if len(input) > 400 {
			input = input[:400]
		}
		play(t, seed, input)
	})
}
