// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	procs "prywalk/internal/host/process"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// calls has one rule: frames of three words.
type calls struct{}

func (calls) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 64, Method: frames.MethodCFI, Saved: [frames.NumCompact]uint8{2, 3}},
		nil, true
}

func deepSample(depth int) *observe.RawSample {
	const code, stack = 0x10000, 0x700000
	site := func(i int) uint64 { return code + 0x10 + 0x20*uint64(i%50) }
	s := &observe.RawSample{Regs: frames.Regs{Arch: frames.X86_64, PC: site(0)}}
	s.Regs.Set(frames.X86RSP, stack)
	b := make([]byte, 64*depth)
	for i := range depth - 1 {
		binary.LittleEndian.PutUint64(b[64*i+56:], site(i+1))
	}
	s.Mem.Stack = frames.Region{Addr: stack, Bytes: b}
	return s
}

func neverRefreshed(opened *loadedcode.Process) (*processState, *target.Thread) {
	p := &target.Process{Code: opened}
	never := &processState{process: p, refreshBudget: refreshBudget{last: math.MaxInt64}, history: &programHistory{}}
	return never, &target.Thread{Proc: p, Observed: observe.NewThread(1, 1, nil)}
}

func ofPID(pid int) *processState {
	opened := &loadedcode.Process{Process: &procs.Process{PID: pid}}
	return &processState{process: &target.Process{Code: opened}, history: &programHistory{}}
}

func BenchmarkUnwind(b *testing.B) {
	t, err := loadedcode.Open(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	t.Space().SetModules([]*frames.Module{{Start: 0x10000, End: 0x20000, Name: "m",
		Sources: []frames.RuleSource{calls{}}}})
	for _, depth := range []int{8, 32, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			u := newStackBuilder(profile.NewBuilder(profile.Meta{}), math.MaxInt32)
			p, th := neverRefreshed(t)
			s := deepSample(depth)
			n := uint64(0)
			unwind := func() {
				n++
				binary.LittleEndian.PutUint64(s.Mem.Stack.Bytes[48:], n)
				binary.LittleEndian.PutUint64(s.Mem.Stack.Bytes[64+40:], n)
				if _, end := u.stackOfThread(p, th, s); !end.Complete() {
					b.Fatal(end)
				}
			}
			unwind()
			unwind()
			b.ReportAllocs()
			begin := selfruntime.CPUTime()
			for b.Loop() {
				unwind()
			}
			b.ReportMetric(float64(selfruntime.CPUTime()-begin)/float64(b.N*depth), "ns/frame")
		})
	}
}

func TestASampleInExecHasNoUserStack(t *testing.T) {
	from, to := execSpan()
	if from == 0 {
		t.Skip("needs root to see the kernel's symbols: sudo make test")
	}
	b := profile.NewBuilder(profile.Meta{})
	u := newStackBuilder(b, 0)
	g := &target.Program{Name: "gone"}
	for _, c := range []struct {
		kernel uint64
		want   frames.StopReason
	}{
		{from, frames.StopRoot}, {to - 1, frames.StopRoot}, {to, frames.StopBadMemory}, {from - 1, frames.StopBadMemory},
	} {
		s := deepSample(1)
		s.Mem.Stack.Bytes = nil
		s.KernelStack.Frames = []uint64{c.kernel}
		p, th := neverRefreshed(&loadedcode.Process{Process: &procs.Process{PID: os.Getpid()}})
		id, end := u.stackOfSample(p, th, g, s)
		kernelOnly := id == b.Intern([]profile.Loc{{Module: kernelModule, Addr: c.kernel}})
		if end.Complete() != c.want.Complete() || kernelOnly != c.want.Complete() {
			t.Errorf("in the kernel at %#x: stop reason %v, only kernel frames %v; want %v", c.kernel, end, kernelOnly,
				c.want.Complete())
		}
	}
}
