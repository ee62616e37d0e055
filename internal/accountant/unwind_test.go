// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	procs "prywalk/internal/process"
	"prywalk/internal/profile"
)

// calls gives the same rule for all code: three words are read for a frame.
type calls struct{}

// Rule implements [frames.RuleSource].
func (calls) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 64, Method: frames.MethodCFI, Saved: [frames.NumCompact]uint8{2, 3}},
		nil, true
}

// deepShot gives a stack of that many frames, of 50 functions.
func deepShot(depth int) *look.Shot {
	const code, stack = 0x10000, 0x700000
	site := func(i int) uint64 { return code + 0x10 + 0x20*uint64(i%50) }
	s := &look.Shot{Regs: frames.Regs{Arch: frames.X86_64, PC: site(0)}}
	s.Regs.Set(frames.X86RSP, stack)
	b := make([]byte, 64*depth)
	for i := range depth - 1 {
		binary.LittleEndian.PutUint64(b[64*i+56:], site(i+1))
	}
	s.Mem.Stack = frames.Region{Addr: stack, Bytes: b}
	return s
}

// neverRefreshed gives the account of a thread of a process whose mappings are not read anew.
func neverRefreshed(target *code.Process) *threadAccount {
	p := &handover.Process{Target: target}
	return &threadAccount{
		Thread: &handover.Thread{Proc: p, Walks: look.NewThread(1, 1, nil).Walks()},
		proc:   &processAccount{Process: p, refreshes: refreshes{last: math.MaxInt64}},
	}
}

// ofPID gives the account of a process of which there is only the number.
func ofPID(pid int) *processAccount {
	return &processAccount{Process: &handover.Process{Target: &code.Process{Process: &procs.Process{PID: pid}}}}
}

// BenchmarkUnwind makes stacks of copies in which the two innermost frames have changed, and nothing else.
func BenchmarkUnwind(b *testing.B) {
	t, err := code.Open(os.Getpid())
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
			u := newUnwinder(profile.NewBuilder(profile.Meta{}), math.MaxInt32)
			th := neverRefreshed(t)
			s := deepShot(depth)
			n := uint64(0)
			unwind := func() {
				n++
				binary.LittleEndian.PutUint64(s.Mem.Stack.Bytes[48:], n)
				binary.LittleEndian.PutUint64(s.Mem.Stack.Bytes[64+40:], n)
				if _, stop := u.unwind(th, s); !stop.Complete() {
					b.Fatal(stop)
				}
			}
			unwind()
			unwind()
			b.ReportAllocs()
			begin := ownruntime.CPUTime()
			for b.Loop() {
				unwind()
			}
			b.ReportMetric(float64(ownruntime.CPUTime()-begin)/float64(b.N*depth), "ns/frame")
		})
	}
}

// TestLocationsKeepTheirNumbers: the numbers that are kept by address are those that the recording gives, also where
// two modules have code at one address, and where addresses push each other out.
func TestLocationsKeepTheirNumbers(t *testing.T) {
	b := profile.NewBuilder(profile.Meta{})
	u := newUnwinder(b, 0)
	one, two := &frames.Module{Start: 0x1000, End: 1 << 20, Name: "a"}, &frames.Module{Start: 0x1000, End: 1 << 20,
		Name: "b"}
	p := ofPID(1)
	for range 2 {
		for addr := frames.Addr(0x1000); addr < 0x1000+3<<numberBits; addr++ {
			for _, m := range []*frames.Module{one, nil, two} {
				want := b.Loc(&profile.Loc{Module: u.module(p, m), Addr: addr})
				if got := u.location(p, m, addr, false); got != want {
					t.Fatalf("%#x in %v has the number %d, want %d", addr, m, got, want)
				}
			}
		}
	}
}

// TestExecAndExitAreFunctionsOfTheKernel, where such functions are wanted: that a child was in one of them is known
// without its stack.
func TestExecAndExitAreFunctionsOfTheKernel(t *testing.T) {
	b := profile.NewBuilder(profile.Meta{})
	u := newUnwinder(b, 0)
	told := func(name string) profile.Loc {
		return profile.Loc{Module: kernelModule, Described: b.Describe([]profile.Frame{{Name: name, System: name}})}
	}
	for _, c := range []struct {
		met    attribute.Met
		wanted bool
		want   profile.Loc
	}{
		{attribute.MetInExit, true, told("do_exit")},
		{attribute.MetInExec, true, told("do_execveat_common")},
		{attribute.MetInExit, false, profile.Loc{Synthetic: attribute.ExecOrExit}},
		{attribute.MetInExec, false, profile.Loc{Synthetic: attribute.ExecOrExit}},
	} {
		if got, want := u.inKernel(c.met, c.wanted), b.Intern([]profile.Loc{c.want}); got != want {
			t.Errorf("%+v: stack %d, want %d", c, got, want)
		}
	}
}
