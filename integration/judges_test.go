// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

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
	gdb := testtargets.NeedProgram(t, "gdb")
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	cmd := exec.Command(self, "-nx", "-batch", "-p", pidList([]int{sleeper.Process.Pid}), "-ex", "print 6*7")
	cmd.Env = append(os.Environ(), seccompVariable+"="+gdb)
	cmd.Dir = filepath.Dir(binary)
	out, _ := bounded.AllOutput(cmd)
	if text := string(out); !containsAll(text, "ptrace", "not permitted") {
		t.Errorf("gdb under the filter can attach: %s", clip(text))
	}
}
