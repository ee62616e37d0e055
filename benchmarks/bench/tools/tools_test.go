// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"strings"
	"testing"
)

func TestStacksOfPerfScriptAreCounted(t *testing.T) {
	const text = ` 2780 
	ffffffff821f39e5 irqentry_exit_to_user_mode
	          238147 prywalk/internal/bench/load.mix

 2781 
	          238147 mix
	           91147 clone3@@GLIBC_2.34

 2781 
	          238147 mix
	           91147 runtime.goexit.abi0
`
	if samples, complete := countStacks(strings.NewReader(text)); samples != 3 || complete != 2 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
	if samples, _ := countStacks(strings.NewReader("\n\n")); samples != 0 {
		t.Errorf("%d stacks of nothing", samples)
	}
}

func TestLinesAreCountedByTheirBeginning(t *testing.T) {
	if n := countLines([]byte("Thread 1 (a)\n#0 x\nThread 2 (b)\n Thread 3"), "Thread "); n != 2 {
		t.Error(n)
	}
}

func TestStacksOfDebuggersAreCompleteWhereTheyReachTheFirstFunction(t *testing.T) {
	const gdb = `Thread 2 (LWP 2 "a"):
#0  0x0000000000460d92 in runtime.sysmon () at runtime/proc.go:6506
#1  0x000000000049236f in runtime.clone () at runtime/sys_linux_amd64.s:630
#2  0x0000000000000000 in ?? ()

Thread 1 (LWP 1 "a"):
#0  0x00007f93 in clone_all () from /lib/x.so
#1  0x0000000000000000 in ?? ()
`
	if n := gdbComplete([]byte(gdb), nil, 2); n != 1 {
		t.Errorf("gdb: %d", n)
	}
	const said = `eu-stack: dwfl_thread_getframes tid 4 at 0x24a0d568bfff in <unknown>: No DWARF information found
eu-stack: dwfl_thread_getframes tid 5 at 0x4a0d in /bin/x: No DWARF information found
`
	if n := euStackComplete(nil, []byte(said), 3); n != 2 {
		t.Errorf("eu-stack: %d", n)
	}
}

func TestOneRunWithoutAFigureLeavesNoSum(t *testing.T) {
	var r Restarted
	r.add(5, 4)
	if r.totals.Samples != 5 || r.totals.Complete != 4 {
		t.Errorf("%+v", r.totals)
	}
	r.add(3, -1)
	r.add(2, 2)
	if r.totals.Samples != 10 || r.totals.Complete != -1 {
		t.Errorf("%+v", r.totals)
	}
}

func FuzzOutputOfPeers(f *testing.F) {
	f.Add("Thread 1 (x)\n#0 clone () 3")
	f.Fuzz(func(t *testing.T, text string) {
		samples, complete := countStacks(strings.NewReader(text))
		if complete > samples || gdbComplete([]byte(text), nil, 0) > int64(strings.Count(text, "\n")+1) {
			t.Error("more complete stacks than stacks")
		}
		_ = euStackComplete(nil, []byte(text), 1)
	})
}
