// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
)

func TestProcessThatCannotBeReadForLackOfDescriptorsIsAlive(t *testing.T) {
	s, err := ReadStatus("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{PID: os.Getpid(), StartTime: s.Start, pidfd: -1}
	alive := false
	testtargets.WithoutDescriptors(t, func() { alive = p.Alive() })
	if !alive || !p.Alive() {
		t.Errorf("alive without descriptors: %v, with: %v; want both true", alive, p.Alive())
	}
	if p.StartTime++; p.Alive() {
		t.Error("another process with this number is taken for it")
	}
}

func TestAProcessOfTheDynamicLoaderHasTheNameOfItsProgram(t *testing.T) {
	testtargets.NeedProgram(t, "ld.so") // glibc 2.34 on
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{sleep, "3600"}, {"--library-path", "/none", sleep, "3600"}} {
		cmd := exec.Command("ld.so", args...)
		if err := cmd.Start(); err != nil { // returns after exec
			t.Fatal(err)
		}
		p, err := Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if name := p.Name(); name != "sleep" {
			t.Errorf("ld.so %q is called %q", args, name)
		}
		p.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if name := p.Name(); name != "?" {
			t.Errorf("an ended process is called %q", name)
		}
	}
	self, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	if p := self.LoadedProgram(); p != "" {
		t.Errorf("the test runs %q", p)
	}
}
