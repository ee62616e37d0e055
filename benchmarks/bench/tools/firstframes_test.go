// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/testtargets"
)

func opened(t *testing.T, pid int) *firstFrames {
	t.Helper()
	f, err := openFirstFrames(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

func offsetOf(t *testing.T, f *firstFrames, pc uint64) (path string, offset uint64) {
	t.Helper()
	m := f.proc.Space().ModuleAt(pc)
	if m == nil {
		t.Fatalf("nothing is mapped at %#x", pc)
	}
	return m.Name, pc - m.Bias - lowest(loadedcode.MappingOf(m).Image.ELF)
}

func TestFirstFunctionIsKnownByItsName(t *testing.T) {
	f := opened(t, os.Getpid())
	var pcs [64]uintptr
	n := runtime.Callers(1, pcs[:])
	for i, pc := range pcs[:n] {
		path, offset := offsetOf(t, f, uint64(pc)-1)
		for range 2 {
			if got, want := f.at(path, offset, true), i == n-1; got != want {
				t.Errorf("frame %d of %d, %s: %t", i, n, runtime.FuncForPC(pc-1).Name(), got)
			}
		}
		if f.at("/another"+path, offset, true) {
			t.Error("a file that is not mapped has a first function")
		}
	}
}

// Distributions' programs have no symbols.
func TestFirstFunctionWithoutANameIsKnownByItsRule(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	testtargets.Asleep(t, cmd.Process.Pid)
	f := opened(t, cmd.Process.Pid)
	main := f.proc.Main()
	if main == nil {
		t.Fatal("the program is not mapped")
	}
	file := loadedcode.MappingOf(main).Image.ELF
	path, offset := offsetOf(t, f, file.Entry+main.Bias)
	if !f.at(path, offset, false) {
		t.Errorf("%s+%#x is not the first function", path, offset)
	}
	if f.at(path, ^uint64(0), false) {
		t.Error("an address outside of the code is of a first function")
	}
}
