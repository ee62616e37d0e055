// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

func TestMeterAgreesWithTheKernelsResourceUsage(t *testing.T) {
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Second)
	m := startMeter([]int{cmd.Process.Pid})
	eventually(t, "the shell has counted", func() bool {
		cpu, err := cpuOf(cmd.Process.Pid)
		return err == nil && cpu > 20*time.Millisecond && stateOf(cmd.Process.Pid) == "S"
	})
	in.Close()
	eventually(t, "the shell has ended", func() bool { return stateOf(cmd.Process.Pid) == "Z" })
	m.finish()
	if err := cmd.Wait(); err == nil {
		t.Error("the shell's read did not return an end of file")
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	want := time.Duration(use.Utime.Nano() + use.Stime.Nano())
	got, same := m.read(time.Now())
	if d := (want - got).Abs(); d > 10*time.Millisecond || got != same {
		t.Errorf("the meter has %v to %v of CPU time, rusage %v", got, same, want)
	}
	if _, w := m.window(begin, time.Hour); w > got {
		t.Errorf("a window of the meter has %v, want no more than %v, the total", w, got)
	}
}

func TestSymbolsOfTheTwinNameOffsetsOfTheStrippedProgram(t *testing.T) {
	target := testtargets.Run(t, "c-stripped", testtargets.Options{})
	f, err := elf.Open(target.Unstripped)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	stripped, err := elf.Open(target.Exe)
	if err != nil {
		t.Fatal(err)
	}
	defer stripped.Close()
	if s, err := stripped.Symbols(); err == nil && len(s) > 0 {
		t.Errorf("the stripped program has %d symbols, want none", len(s))
	}
	text, twin := stripped.Section(".text"), f.Section(".text")
	if text.Offset != twin.Offset || text.Addr != twin.Addr {
		t.Fatalf(".text is at %#x in the stripped program, at %#x in its twin", text.Addr, twin.Addr)
	}
	for _, s := range symbols {
		if s.Name == "burn_60" {
			if got := symbolAt(f, symbols, s.Value-twin.Addr+twin.Offset+1); got != "burn_60" {
				t.Errorf("the address of burn_60 has the name %q", got)
			}
			return
		}
	}
	t.Error("the twin has no symbol burn_60")
}

func TestProcessWithoutPtraceIsRefused(t *testing.T) {
	// gdb cannot attach under the filter, so the filter works.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	cmd := exec.Command(self, "-nx", "-batch", "-p", pidList([]int{sleeper.Process.Pid}), "-ex", "print 6*7")
	cmd.Env = append(os.Environ(), seccompVariable+"="+gdb)
	cmd.Dir = filepath.Dir(binary)
	out, _ := cmd.CombinedOutput()
	if text := string(out); !containsAll(text, "ptrace", "not permitted") {
		t.Errorf("gdb under the filter can attach: %s", clip(text))
	}
}
