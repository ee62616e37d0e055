// SPDX-License-Identifier: Apache-2.0

package valgrind

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	toolAt     = 0x58001000
	madeAt     = 0x100000
	stateAt    = 0x20000
	ownStack   = 0x30000 // Valgrind's
	stackAt    = 0x40000 // the program's
	frameAt    = stackAt + 0x100
	function   = 0x1000 // push rbx; …; call 0x1200 (at callSite); …; ret (at returnSite)
	callSite   = 0x1010
	returnSite = 0x1021
	caller     = 0x1100
	inCaller   = 0x1110 // behind the call of function
	next       = 0x1022 // a function behind returnSite
	start      = 0x1300
)

// program is the code of the program.
type program struct{}

func (program) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: frames.X86RSP, Method: frames.MethodCFI}
	switch pc := q.PC; {
	case pc == function || pc == returnSite:
		r.CFAOff = 8
	case pc > function && pc < returnSite, pc >= caller && pc < start:
		r.CFAOff = 16
	case pc >= next && pc < next+16:
		r.CFAOff = 24
	case pc >= start:
		r.Flags = frames.FlagRoot
	default:
		return r, nil, false
	}
	return r, nil, true
}

func (program) CallBefore(ret frames.Addr) (frames.Call, bool) {
	return frames.Call{Target: function, Direct: true}, ret == inCaller
}

func (program) FuncStart(pc frames.Addr) (frames.Addr, bool) {
	if pc >= next && pc < caller {
		return next, true
	}
	return pc &^ 0xff, true
}

var (
	_ managed.FrameSource = (*Runtime)(nil)
	_ frames.LeftStack    = (*Runtime)(nil)
)

type process struct {
	managed.Host
	modules []*frames.Module
	mem     *frames.Snapshot
}

func (p *process) Arch() frames.Arch         { return frames.X86_64 }
func (p *process) Modules() []*frames.Module { return p.modules }

func (p *process) Read(addr uint64, b []byte) int {
	v, ok := p.mem.Word(addr)
	if !ok {
		return 0
	}
	return copy(b, binary.LittleEndian.AppendUint64(nil, v))
}

func newProcess() *process {
	region := func(at uint64) frames.Region { return frames.Region{Addr: at, Bytes: make([]byte, 0x400)} }
	return &process{
		modules: []*frames.Module{{Start: 0x1000, End: 0x2000, Name: "/bin/p", Sources: []frames.RuleSource{program{}},
			Calls: program{}}, {Start: madeAt, End: 2 * madeAt, Name: "[anon]", Generated: true},
			{Start: toolAt, End: toolAt + 0x1000, Name: "/usr/libexec/valgrind/memcheck-amd64-linux"}},
		mem: &frames.Snapshot{Stack: region(ownStack), Others: []frames.Region{region(stateAt), region(stackAt)}},
	}
}

func (p *process) put(at, v uint64) {
	for _, r := range append(p.mem.Others, p.mem.Stack) {
		if off := at - r.Addr; off < uint64(len(r.Bytes)) {
			binary.LittleEndian.PutUint64(r.Bytes[off:], v)
		}
	}
}

// setState sets the program's rip and rsp. The stack has the frame of function, whose rbx is at frameAt.
func (p *process) setState(rip, rsp uint64) {
	for at, v := range map[uint64]uint64{
		stateAt: toolAt + 0x10, stateAt + guestRIP: rip, stateAt + guestRSP: rsp, stateAt + guestRBP: 0x77,
		frameAt - 8: callSite + 5, frameAt: 5, frameAt + 8: inCaller, frameAt + 16: inCaller,
	} {
		p.put(at, v)
	}
}

func (p *process) find(t *testing.T, pc uint64, stop frames.StopReason) (frames.LeftFrame, bool) {
	t.Helper()
	r, err := Detect(p)
	if r == nil || err != nil || !r.Attach(p) {
		t.Fatalf("Valgrind is not detected: %v", err)
	}
	regs := &frames.Regs{Arch: frames.X86_64, PC: pc}
	regs.Set(frames.X86RBP, stateAt)
	regs.Set(frames.X86RSP, ownStack+0x200)
	return r.(*Runtime).FindLeft(regs, p.mem, stop)
}

func TestTheProgramsPlaceIsProvenByItsReturnAddress(t *testing.T) {
	for what, c := range map[string]struct{ rip, rsp, wantPC, wantSP uint64 }{
		"registers of one instruction": {function + 8, frameAt, function + 8, frameAt},
		"rsp of the next instruction":  {function, frameAt, function + 1, frameAt},
		"its call was carried out":     {callSite, frameAt - 8, callSite, frameAt},
		"two return addresses":         {function, frameAt + 8, 0, 0},
		"the next function is near":    {function + 0x18, frameAt, function + 0x18, frameAt},
		"no return address":            {function + 8, stackAt + 8, 0, 0},
		"no code":                      {0x9000, frameAt, 0, 0},
		"the tool's code":              {toolAt + 8, frameAt, 0, 0},
	} {
		p := newProcess()
		p.setState(c.rip, c.rsp)
		f, ok := p.find(t, madeAt+8, frames.StopNoRule)
		want := c.wantPC != 0
		if ok != want || ok && (f.PC != c.wantPC || f.SP != c.wantSP || f.FP != 0x77 || !f.Interrupted) || f.Unread != 0 {
			t.Errorf("%s: %+v, %v; want %#x, %#x", what, f, ok, c.wantPC, c.wantSP)
		}
	}
}

func TestTheStateIsFoundOnValgrindsStack(t *testing.T) {
	for what, c := range map[string]struct {
		at, word uint64
		pc       uint64
		want     bool
	}{
		"the state":                  {ownStack + 0x100, stateAt, toolAt + 8, true},
		"the thread that has it":     {ownStack + 0x100, stateAt - stateInThread, toolAt + 8, true},
		"beyond the outermost frame": {ownStack + 0x208, stateAt, toolAt + 8, false},
		"another word":               {ownStack + 0x100, stackAt, toolAt + 8, false},
		"not in Valgrind's function": {ownStack + 0x100, stateAt, caller, false},
	} {
		p := newProcess()
		p.setState(function+8, frameAt)
		p.put(c.at, c.word)
		if f, ok := p.find(t, c.pc, frames.StopRoot); ok != c.want || ok && f.PC != function+8 {
			t.Errorf("%s: %+v, %v; want %v", what, f, ok, c.want)
		}
	}
}

func TestWhatWasNotCopiedIsNamed(t *testing.T) {
	p := newProcess()
	p.setState(function+8, 0x99000)
	if f, ok := p.find(t, madeAt+8, frames.StopNoRule); ok || f.Unread != 0x99000 || f.SavedSP != stateAt+guestRSP {
		t.Errorf("stack: %+v, %v", f, ok)
	}
	host := newProcess()
	host.setState(function+8, frameAt)
	r, _ := Detect(host)
	r.Attach(host)
	regs := &frames.Regs{Arch: frames.X86_64, PC: madeAt + 8}
	regs.Set(frames.X86RBP, stateAt)
	if f, ok := r.(*Runtime).FindLeft(regs, &frames.Snapshot{}, frames.StopNoRule); ok || f.Unread != stateAt+guestRIP {
		t.Errorf("state: %+v, %v", f, ok)
	}
}

func TestTranslationsAreValgrinds(t *testing.T) {
	p := newProcess()
	r, _ := Detect(p)
	r.Attach(p)
	for i, want := range []bool{false, true, false} {
		_, hides := r.(*Runtime).ManagedFrames(&frames.Frame{Module: p.modules[i]}, 0, nil)
		if hides != want {
			t.Errorf("%s: hidden %v, want %v", p.modules[i].Name, hides, want)
		}
	}
	p.modules = p.modules[:2]
	if r, _ := Detect(p); r != nil {
		t.Error("Valgrind is detected without a tool")
	}
}

func FuzzStates(f *testing.F) {
	p := newProcess()
	p.setState(function+8, frameAt)
	f.Add(p.mem.Others[0].Bytes, p.mem.Others[1].Bytes)
	f.Fuzz(func(t *testing.T, state, stack []byte) {
		p := newProcess()
		p.mem.Others[0].Bytes, p.mem.Others[1].Bytes, p.mem.Stack.Bytes = state, stack, stack
		p.find(t, madeAt+8, frames.StopNoRule)
		p.find(t, toolAt+8, frames.StopRoot)
	})
}
