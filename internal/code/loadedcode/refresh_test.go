// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

const writer = `
import sys, mmap
print('ready', flush=True); sys.stdin.readline()
m = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS, prot=7); m[0:2] = b"\x90\xc3"
print(flush=True); sys.stdin.readline()
m[0:2] = b"\xcc\xc3"
print(flush=True); sys.stdin.readline()
m.close()
print(flush=True); sys.stdin.readline()`

func startWriter(t *testing.T) (pid int, step func()) {
	t.Helper()
	py := testtargets.NeedProgram(t, "python3")
	c := exec.Command(py, "-c", writer)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	replies := testtargets.Ready(t, c)
	return c.Process.Pid, func() {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := replies.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefreshFindsAddedAndRemovedCode(t *testing.T) {
	pid, step := startWriter(t)
	p := open(t, pid)
	before := slices.Clone(p.Space().Modules())
	refreshed(t, p, false)
	if !slices.Equal(before, p.Space().Modules()) {
		t.Error("modules changed without a change of mappings")
	}
	step()
	refreshed(t, p, true)
	after := p.Space().Modules()
	if len(after) != len(before)+1 {
		t.Fatalf("%d modules, after a mapping was added %d", len(before), len(after))
	}
	for _, m := range before {
		if !slices.Contains(after, m) {
			t.Errorf("%s was replaced by another module", m.Name)
		}
	}
	i := slices.IndexFunc(after, func(m *frames.Module) bool { return !slices.Contains(before, m) })
	jit := after[i]
	if at := MappingOf(jit); !at.JIT || jit.Name != "[anon]" || at.Image != nil {
		t.Errorf("new module %+v, %+v; want anonymous JIT code", jit, at)
	}
	var code [2]byte
	if n := p.jit.ReadCode(jit.Start, code[:]); n != 2 || code != [2]byte{0x90, 0xc3} {
		t.Errorf("code % x, want 90 c3", code)
	}
	step()
	refreshed(t, p, true)
	if p.jit.ReadCode(jit.Start, code[:]); code[0] != 0xcc {
		t.Error("rewritten code is not read")
	}
	refreshed(t, p, false)
	step()
	refreshed(t, p, true)
	if !slices.Equal(before, p.Space().Modules()) {
		t.Error("the unmapped code is still known")
	}
}

func refreshed(t *testing.T, p *Process, want bool) {
	t.Helper()
	changed, err := p.Refresh()
	if err != nil || changed != want {
		t.Fatalf("Refresh: %v, %v; want %v", changed, err, want)
	}
}

func TestRefreshFindsTheProgramAfterExec(t *testing.T) {
	c := exec.Command("sh", "-c", "read x; exec sleep 1000")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Child(t, c)
	testtargets.Asleep(t, c.Process.Pid)
	p := open(t, c.Process.Pid)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "exec", func() bool { return p.Name() == "sleep" })
	testtargets.Asleep(t, c.Process.Pid)
	refreshed(t, p, true)
	if p.Comm != "sleep" || moduleOf(p, "sleep") == nil {
		t.Errorf("after exec: name %s, modules %+v; want sleep", p.Comm, p.Space().Modules())
	}
}

func TestRefreshFindsAnExecOfTheSameProgramAtTheSameAddresses(t *testing.T) {
	exe, err := testtargets.Compile("execs.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		caller string
		execs  bool
	}{{"first", true}, {"other", true}, {"vfork", false}} {
		cmd := exec.Command("setarch", "-R", exe, c.caller, "0", "0", "0", "1")
		says := testtargets.Ready(t, cmd)
		p := open(t, cmd.Process.Pid)
		before, main := p.addressSpace, p.Main()
		if err := unix.Kill(p.PID, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if line, err := says.ReadString('\n'); line != "done\n" {
			t.Fatalf("the target says %q (%v), want done", line, err)
		}
		if _, err := p.Refresh(); err != nil {
			t.Fatal(err)
		}
		if now := p.addressSpace; now > before != c.execs || p.Main() != main != c.execs {
			t.Errorf("exec by %s: address space %d, before %d; another main module: %v", c.caller, now, before,
				p.Main() != main)
		}
	}
}

func BenchmarkRefreshUnchanged(b *testing.B) {
	c := child(b, "sleep", "1000")
	testtargets.Asleep(b, c.Process.Pid)
	p := open(b, c.Process.Pid)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}
