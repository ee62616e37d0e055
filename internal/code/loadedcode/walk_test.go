// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func sampleOnce(t *testing.T, p *Process, tid int) ([]frames.Frame, frames.StopReason) {
	t.Helper()
	f := procmem.OpenThread(p.PID, tid, nil)
	defer f.Close()
	s, err := f.Syscall()
	if err != nil || s.Running {
		return nil, frames.StopNone
	}
	regs := frames.Regs{PC: s.PC, Arch: p.Arch}
	regs.Set(p.Arch.SP(), s.SP)
	end := p.StackEnd(s.SP)
	stack := make([]byte, min(end-s.SP, 1<<20))
	n, err := procmem.ReadVM(tid, s.SP, stack)
	if err != nil {
		t.Fatal(err)
	}
	mem := &frames.Snapshot{Stack: frames.Region{Addr: s.SP, Bytes: stack[:n]}, StackEnd: end}
	var w frames.Walker
	var out []frames.Frame
	for w.Init(p.Space(), &regs, mem); w.Next(); {
		out = append(out, w.Frame())
	}
	return out, w.StopReason()
}

func TestStacksOfSleepingThreadsAreWalked(t *testing.T) {
	for name, c := range map[string]struct {
		threads int // at least
		args    []string
	}{
		"sleep": {1, []string{"1000"}},
		"python3": {5,
			[]string{"-c",
				"import threading,time\nfor i in range(4): threading.Thread(target=time.sleep, " +
					"args=(1000,)).start()\ntime.sleep(1000)"}},
		"node": {5, []string{"-e", "setInterval(()=>{}, 1000000)"}},
	} {
		t.Run(name, func(t *testing.T) {
			threads := c.threads
			c := child(t, name, c.args...)
			awaitSleep(t, c.Process.Pid, threads)
			p := open(t, c.Process.Pid)
			tids, err := p.Threads(nil)
			if err != nil {
				t.Fatal(err)
			}
			whole := 0
			for _, tid := range tids {
				fs, why := sampleOnce(t, p, tid)
				if why.Complete() {
					whole++
					continue
				}
				for _, f := range fs {
					name := "?"
					if f.Module != nil {
						name = filepath.Base(f.Module.Name)
					}
					t.Logf("%d %#x %s %v", tid, f.PC, name, f.Method)
				}
				t.Logf("%d: %v", tid, why)
			}
			if whole*4 < len(tids)*3 {
				t.Errorf("%d of %d stacks are complete, want three quarters", whole, len(tids))
			}
		})
	}
}

// awaitSleep waits until a process has so many threads, and all of them sleep.
func awaitSleep(t *testing.T, pid, threads int) {
	t.Helper()
	testtargets.Eventually(t, "the process has its threads", func() bool {
		entries, _ := os.ReadDir(process.Path(pid, "task"))
		return len(entries) >= threads
	})
	testtargets.Still(t, pid, func() {})
}

func TestGoProgramsHaveTheirTable(t *testing.T) {
	p := open(t, os.Getpid())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Space().Modules() {
		img := imageOf(m)
		if img == nil {
			continue
		}
		isGo := m.Name == self
		if got := img.Table() != nil; got != isGo {
			t.Errorf("%s: has a Go table: %v, want %v", m.Name, got, isGo)
		}
		if start, ok := m.Calls.FuncStart(m.Start - m.Bias + (m.End-m.Start)/2); isGo && (!ok || start == 0) {
			t.Errorf("%s: no function at the middle of its code", m.Name)
		}
	}
}

func TestSourcesAreMadeAtTheFirstRule(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	p := open(t, c.Process.Pid)
	m := moduleOf(p, "sleep")
	img := imageOf(m)
	if img.rules != nil {
		t.Fatal("sources are made by Open")
	}
	for pc := m.Start; pc < m.End; pc += 64 {
		for _, s := range m.Sources {
			s.Rule(frames.Query{PC: pc - m.Bias})
		}
	}
	if len(img.preparedRules().sources) != 3 {
		t.Errorf("%d sources, want 3: call frame information, that of a debug file, instructions",
			len(img.preparedRules().sources))
	}
}

func TestJVMOpensWithCompiledCodeAsModules(t *testing.T) {
	java := testtargets.NeedProgram(t, "java")
	dir := t.TempDir()
	src := filepath.Join(dir, "Nap.java")
	if err := os.WriteFile(src,
		[]byte("class Nap { public static void main(String[] a) throws Exception { System.out.println(\"ready\"); "+
			"Thread.sleep(1000000); } }"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(java, "-Xmx64m", src)
	testtargets.Ready(t, c)
	p := open(t, c.Process.Pid)
	jit := 0
	for _, m := range p.Space().Modules() {
		if MappingOf(m).JIT {
			jit++
			if m.Name != "[anon]" || m.Calls == nil || len(m.Sources) != 3 || !m.NoFP {
				t.Errorf("module %+v, want one with calls, three sources, no frame pointers", m)
			}
		}
	}
	if jit == 0 || moduleOf(p, "libjvm.so") == nil {
		t.Errorf("%d modules of compiled code, or no libjvm.so", jit)
	}
}
