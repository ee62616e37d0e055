// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe/taskstack"
	"prywalk/internal/perfevents"
	"prywalk/internal/process"
	"prywalk/internal/testtargets"
)

func kernelChain(regs *frames.Regs, mem frames.Memory) (chain []byte) {
	chain = binary.LittleEndian.AppendUint64(nil, regs.PC)
	at, _ := regs.Get(frames.X86RBP)
	for range 126 {
		next, ok := mem.Word(at)
		ret, ok2 := mem.Word(at + 8)
		if !ok || !ok2 {
			break
		}
		chain = binary.LittleEndian.AppendUint64(chain, ret)
		at = next
	}
	return chain
}

func walkAll(w *frames.Walker, p *loadedcode.Process, regs *frames.Regs, mem frames.Memory) (pcs []frames.Addr) {
	for w.Init(p.Space(), regs, mem); w.Next(); {
		pcs = append(pcs, w.Frame().PC)
	}
	return pcs
}

// compared counts stacks. growing: the stack is being moved and the chain ends before it, as runtime.morestack clears
// the frame pointer (Go's src/runtime/asm_amd64.s).
type compared struct{ all, same, other, incomplete, growing int }

func functionOf(t *testing.T, exe, name string) func(frames.Addr) bool {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("%s: no symbol %s", exe, name)
	}
	return func(pc frames.Addr) bool { return pc-syms[at].Value < syms[at].Size }
}

// compareChains walks each stack with all of its memory, then with what a kernel's sample has. grows is true in
// functions in which a stack is moved.
func compareChains(t *testing.T, pid int, grows func(frames.Addr) bool, enough func(compared) bool) (n compared) {
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	pool := NewPool(16)
	observing(pool, ModeAlwaysStop, func(o *Observer) {
		tasks, threads := taskstack.New(p), map[int]*Thread{}
		var full, chained frames.Walker
		done := func(_ *Thread, s *RawSample, err error) {
			if err != nil || s == nil {
				return
			}
			defer pool.Put(s)
			want := walkAll(&full, p, &s.Regs, &s.Mem)
			if !full.LeftFirstStack() || !full.StopReason().Complete() {
				return
			}
			n.all++
			r := &perfevents.Record{Regs: s.Regs, Chain: kernelChain(&s.Regs, &s.Mem)}
			r.Stack = s.Mem.Stack.Bytes[s.Regs.SP()-s.Mem.Stack.Addr:]
			r.Stack = r.Stack[:min(len(r.Stack), perfevents.MinStack)]
			r.Asked = len(r.Stack)
			of := o.FromKernelSample(r)
			defer pool.Put(of)
			got := walkAll(&chained, p, &of.Regs, &of.Mem)
			if of.EndsAtRecord(&chained) {
				at, returns := of.Chain()
				of.AddRecords(p.Runtimes().NextRecords(at, returns, nil))
				got = walkAll(&chained, p, &of.Regs, &of.Mem)
			}
			switch {
			case !chained.StopReason().Complete() && slices.ContainsFunc(got, grows):
				n.growing++
			case !chained.StopReason().Complete():
				n.incomplete++
			case slices.Equal(got, want):
				n.same++
			default:
				n.other++
				t.Errorf("by frame pointers %#x\nby all memory   %#x", got, want)
			}
		}
		for end := time.Now().Add(testtargets.Patience); !enough(n) && !t.Failed(); {
			if time.Now().After(end) {
				t.Errorf("only %+v", n)
			}
			tids, err := p.Threads(nil)
			if err != nil {
				t.Error(err)
			}
			for _, tid := range tids {
				th := threads[tid]
				if th == nil {
					th = NewThread(pid, tid, nil)
					th.OtherMemory, th.Memory = tasks, p.Memory()
					threads[tid] = th
				}
				if !th.Pending() {
					if _, s, err := o.Begin(th); s != nil {
						done(th, s, err)
					}
				}
			}
			o.Collect(0, done)
		}
		o.CancelAll(done)
	})
	return n
}

func TestAChainOfFramePointersGivesTheStackThatAllMemoryGives(t *testing.T) {
	if process.HostArch() != frames.X86_64 {
		t.Skip("needs x86-64: on arm64 the kernel's chain ends with the first stack")
	}
	exe := filepath.Join(t.TempDir(), "collects")
	if out, err := exec.Command("go", "build", "-o", exe, "testdata/collects/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	grows := functionOf(t, exe, "runtime.newstack")
	n := compareChains(t, cmd.Process.Pid, grows, func(n compared) bool { return n.same >= 300 })
	if t.Logf("%+v", n); n.incomplete*20 > n.all {
		t.Error("more than one in twenty is incomplete")
	}
}
