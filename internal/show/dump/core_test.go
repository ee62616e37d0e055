// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func agree(t *testing.T, tool string, p *stacks.Process, theirs map[int][]uint64) (same int) {
	t.Helper()
	for i := range p.Threads {
		th := &p.Threads[i]
		if ours := pcs(th); !slices.Equal(ours, theirs[th.TID]) {
			t.Logf("thread %d: ours %#x\n%s %#x\n%s", th.TID, ours, tool, theirs[th.TID], names(th))
			continue
		}
		same++
	}
	return same
}

func TestCoreOfAStoppedProcessHasTheStacksOfTheLiveOne(t *testing.T) {
	// Neither tool follows Go's changes of stacks and generated code.
	alone := []string{"go", "go-stripped", "node", "java"}
	all := []string{"c", "go-stripped", "java", "cpp", "python", "redis", "nginx", "postgres", "node", "go", "rust",
		"c-stripped"}
	if !testtargets.All() {
		all = all[:3]
	}
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			tt := testtargets.Run(t, name, testtargets.Options{})
			all := tt.PIDs()
			pid := all[len(all)-1]
			stopAll(t, pid)
			live := sampleOf(t, pid, -1)
			file := gcore(t, pid)
			sysroot := ""
			if name == "node" || name == "java" {
				sysroot = "/" // its perf map is read, too
			}
			dead := dumpBelow(t, file, sysroot)
			sameStacks(t, live, dead)
			for i := range dead.Threads {
				if th := &dead.Threads[i]; !th.Complete {
					t.Errorf("thread %d: %s after %s", th.TID, th.StopReason, names(th))
				}
			}
			if slices.Contains(alone, name) {
				return
			}
			n := len(dead.Threads)
			exe := exeOf(t, pid)
			gdb, eu := agree(t, "gdb", dead, gdbStacks(t, exe, file)), agree(t, "eu-stack", dead, euStacks(t, exe, file))
			t.Logf("%d threads; gdb agrees on %d, eu-stack on %d", n, gdb, eu)
			if gdb < n || eu < n {
				t.Errorf("%d threads; gdb agrees on %d, eu-stack on %d", n, gdb, eu)
			}
		})
	}
}

func sampleOf(t *testing.T, pid, maxDepth int) *stacks.Process {
	t.Helper()
	return sampleBy(t, pid, Options{MaxDepth: maxDepth})
}

func sampleBy(t *testing.T, pid int, o Options) *stacks.Process {
	t.Helper()
	target, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	p, err := Sample(target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close) // all stacks have one budget
	return p
}

func sameStacks(t *testing.T, live, dead *stacks.Process) {
	t.Helper()
	if live.PID != dead.PID || len(live.Threads) != len(dead.Threads) || len(dead.Threads) == 0 {
		t.Fatalf("process %d with %d threads, the core's %d with %d", live.PID, len(live.Threads), dead.PID,
			len(dead.Threads))
	}
	for i := range live.Threads {
		a, b := &live.Threads[i], &dead.Threads[i]
		if a.TID != b.TID || a.StopReason != b.StopReason || !slices.EqualFunc(a.Frames, b.Frames, sameFrame) {
			t.Errorf("thread %d: live %s %s\n%+v\ncore %d %s %s\n%+v", a.TID, a.StopReason, names(a), a.Frames, b.TID,
				b.StopReason, names(b), b.Frames)
		}
		if b.How != "core" || b.State != "" {
			t.Errorf("thread %d: how %q, state %q", b.TID, b.How, b.State)
		}
	}
}

func sameFrame(a, b stacks.Frame) bool { return a.PC == b.PC && a.SP == b.SP && *a.Place == *b.Place }

func TestStacksOfACoreThatEndEarlyAreMarked(t *testing.T) {
	pid := testtargets.Run(t, "c", testtargets.Options{}).PIDs()[0]
	stopAll(t, pid)
	live := sampleOf(t, pid, 1)
	dead := Core(openCore(t, gcore(t, pid), ""), Options{MaxDepth: 1})
	sameStacks(t, live, dead)
	list := dead.Threads[0].Frames
	if last := list[len(list)-1].Function; last != "[incomplete: depth]" {
		t.Errorf("the last frame is %s", last)
	}
}

func exeOf(t *testing.T, pid int) string {
	t.Helper()
	exe, err := filepath.EvalSymlinks("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func TestKernelsCoreOfAnUncaughtException(t *testing.T) {
	exe := compile(t, "thrower.cc", "-g", "-O2", "-pthread")
	core := kernelCore(t, exe)
	p := dumpOf(t, core)
	if len(p.Threads) != 3 || p.Name != "prog" {
		t.Fatalf("%d threads of %q", len(p.Threads), p.Name)
	}
	chain := regexp.MustCompile(`abort .* std::terminate __cxa_throw (thrower ){5,6}start start_thread clone3`)
	// thread ids may have wrapped around
	died, other := p.Threads[2], p.Threads[1]
	if died.Signal == "" {
		died, other = other, died
	}
	if got := names(&died); !chain.MatchString(got) || died.Signal != "SIGABRT" {
		t.Errorf("%s: %s", died.Signal, got)
	}
	if other.Wait != "pause" || p.Threads[0].Wait != "futex" {
		t.Errorf("waits: %q, %q", p.Threads[0].Wait, other.Wait)
	}
	if gdb, eu := agree(t, "gdb", p, gdbStacks(t, exe, core)), agree(t, "eu-stack", p, euStacks(t, exe, core)); gdb < 3 ||
		eu < 3 {
		t.Errorf("of 3 threads gdb agrees on %d, eu-stack on %d", gdb, eu)
	}
}

func TestKernelsCoreFromASignalHandlerOnItsOwnStack(t *testing.T) {
	exe := compile(t, "crash.c", "-g", "-O1", "-fno-optimize-sibling-calls")
	core := kernelCore(t, exe)
	p := dumpOf(t, core)
	chain := regexp.MustCompile(`abort die handler \S+ (fault ){11}main __libc_start_call_main \S+ _start$`)
	if th := &p.Threads[0]; !chain.MatchString(names(th)) || !th.Complete {
		t.Errorf("%s: %s", th.StopReason, names(th))
	}
	if gdb := agree(t, "gdb", p, gdbStacks(t, exe, core)); gdb < 1 {
		t.Error("gdb does not agree")
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := bounded.AllOutput(exec.Command(args[0], args[1:]...)); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}
