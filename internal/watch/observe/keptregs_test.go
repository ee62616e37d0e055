// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

func rawAt(call procmem.SyscallInfo, stack ...byte) *RawSample {
	s := &RawSample{Call: call, How: ByPassiveRead}
	s.Regs = frames.Regs{Arch: process.HostArch(), PC: call.PC}
	s.Regs.Set(process.HostArch().SP(), call.SP)
	s.Mem.Stack = frames.Region{Addr: 0x7000, Bytes: stack}
	return s
}

func TestKeptRegistersHoldInTheSameCallOnly(t *testing.T) {
	sleep := procmem.SyscallInfo{Nr: 35, Args: [6]uint64{1, 2}, SP: 0x7000, PC: 0x1000}
	stopped := rawAt(sleep, 1, 2, 3, 4, 5, 6, 7, 8)
	stopped.Regs.Set(frames.X86RBP, 0x7777)
	stopped.Sched.Runs = 10
	var k keptRegs
	k.keep(stopped)
	restart := sleep
	restart.Nr = 219
	if process.HostArch() == frames.ARM64 {
		restart.Nr = 128
	}
	otherArgs, otherSP, otherPC, otherCall := sleep, sleep, sleep, sleep
	otherArgs.Args[1], otherSP.SP, otherPC.PC, otherCall.Nr = 3, 0x7001, 0x1001, 36
	for name, c := range map[string]struct {
		call  procmem.SyscallInfo
		stack []byte
		root  frames.Addr
		want  bool
	}{
		"the same":                           {sleep, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, true},
		"gone on with by the kernel":         {restart, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, true},
		"other bytes":                        {sleep, []byte{1, 2, 3, 4, 5, 6, 7, 9}, 0, false},
		"other bytes beyond the first frame": {sleep, []byte{1, 2, 3, 4, 5, 6, 7, 9}, 0x7007, true},
		"other bytes below it":               {sleep, []byte{1, 2, 3, 4, 5, 6, 9, 8}, 0x7007, false},
		"a shorter copy":                     {sleep, []byte{1, 2, 3, 4}, 0, false},
		"other arguments":                    {otherArgs, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, false},
		"elsewhere on the stack":             {otherSP, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, false},
		"elsewhere in the code":              {otherPC, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, false},
		"another call":                       {otherCall, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, false},
	} {
		call := c.call
		s := rawAt(call, c.stack...)
		got := k.recall(s, &call, c.root)
		if rbp, _ := s.Regs.Get(frames.X86RBP); got != c.want || got != (rbp == 0x7777) || got && call != sleep {
			t.Errorf("%s: %v, rbp %#x, call %+v", name, got, rbp, call)
		}
	}
	if !k.isSameSleep(&sleep, 11) || k.isSameSleep(&sleep, 12) || !k.isSameSleep(&restart, 12) ||
		k.isSameSleep(&otherArgs, 11) {
		t.Error("a thread that went back to sleep is taken for one that ran, or the reverse")
	}
	if empty := (keptRegs{}); empty.isSameSleep(&procmem.SyscallInfo{}, 1) ||
		empty.recall(rawAt(sleep, 1), &procmem.SyscallInfo{}, 0) {
		t.Error("nothing is kept, and recalled")
	}
}

func TestRegistersAreRecalledOnceTheOutermostFrameIsKnown(t *testing.T) {
	sleep := procmem.SyscallInfo{Nr: 35, SP: 0x7000, PC: 0x1000}
	for _, before := range []frames.Addr{0, 0x9000} {
		th := NewThread(1, 1, nil)
		var o Observer
		walked := func(root frames.Addr) (again bool) {
			th.feedback.copies.hints.size.root = root
			th.feedback.handOver()
			return o.takeHints(th)
		}
		walked(before)
		th.sleep.kept.keep(rawAt(sleep, 1, 2, 3, 4, 5, 6, 7, 8))
		changed := func() bool {
			call := sleep
			return th.sleep.kept.recallOrAwaitRoot(rawAt(sleep, 1, 2, 3, 4, 5, 6, 7, 9), &call, th.hints.stack.size.root)
		}
		if changed() || o.takeHints(th) {
			t.Fatal("recalled before, or read again")
		}
		if walked(before) {
			t.Error("read again though nothing more is known")
		}
		if !walked(0x7007) || !changed() {
			t.Error("not recalled now")
		}
		if walked(0x8000) {
			t.Error("read again though nothing was awaited")
		}
	}
}
