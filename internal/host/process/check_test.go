// SPDX-License-Identifier: Apache-2.0

package process

import (
	"debug/elf"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"

	"golang.org/x/sys/unix"
)

func TestOpenRefusesPIDsWithoutProcess(t *testing.T) {
	for _, pid := range []int{-1, 0, 1 << 30} {
		_, err := Open(pid)
		wantKind(t, err, errs.Exited)
	}
}

func TestOpenNamesTheProcessOfAThread(t *testing.T) {
	tids, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tids {
		if tid, _ := strconv.Atoi(e.Name()); tid != os.Getpid() {
			_, err := Open(tid)
			e := wantKind(t, err, errs.NotAProcess)
			if !strings.Contains(e.Next, "-p "+strconv.Itoa(os.Getpid())) {
				t.Errorf("next step %q, want one with -p %d", e.Next, os.Getpid())
			}
			return
		}
	}
	t.Fatal("this test program has one thread only")
}

func TestOpenRefusesAZombie(t *testing.T) {
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	testtargets.Eventually(t, "true ends", func() bool {
		s, err := defaultProc.status(c.Process.Pid)
		return err == nil && s.State == 'Z'
	})
	_, err := Open(c.Process.Pid)
	wantKind(t, err, errs.Zombie)
}

func TestOpenRefusesAKernelThread(t *testing.T) {
	if s, err := defaultProc.status(2); err != nil || s.Name != "kthreadd" {
		t.Skip("needs kernel threads: not in a pid namespace")
	}
	_, err := Open(2)
	wantKind(t, err, errs.KernelThread)
}

func TestProgramsOf32BitsAreRefused(t *testing.T) {
	for _, c := range []struct {
		class   elf.Class
		machine elf.Machine
		want    string
	}{
		{1, 3, "32-bit"}, {1, 40, "32-bit"}, {1, elf.EM_X86_64, "x32"}, {2, 243, "machine 243"},
	} {
		e := wantKind(t, checkSupported(1, c.class, c.machine), errs.Not64Bit)
		if !strings.Contains(e.Cause, c.want) {
			t.Errorf("class %d, machine %d: cause %q, want %q", c.class, c.machine, e.Cause, c.want)
		}
	}
	if err := checkSupported(1, elf.ELFCLASS64, elf.EM_AARCH64); err != nil {
		t.Error(err)
	}
}

func TestExplainNamesTheTracer(t *testing.T) {
	gdb, err := exec.LookPath("strace")
	if err != nil {
		if gdb, err = exec.LookPath("gdb"); err != nil {
			t.Skip("needs strace or gdb: sudo make setup-all")
		}
	}
	c := child(t, "sleep", "1000")
	pid := strconv.Itoa(c.Process.Pid)
	args := []string{"-q", "-nx", "-p", pid}
	if strings.HasSuffix(gdb, "strace") {
		args = []string{"-q", "-o", "/dev/null", "-p", pid}
	}
	d := exec.Command(gdb, args...)
	in, err := d.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	testtargets.Child(t, d)
	testtargets.Eventually(t, "a tracer attaches", func() bool {
		s, err := defaultProc.status(c.Process.Pid)
		return err == nil && s.TracerPid != 0
	})
	e := wantKind(t, Explain(c.Process.Pid, unix.EPERM), errs.Traced)
	if !strings.Contains(e.Cause, strconv.Itoa(d.Process.Pid)) {
		t.Errorf("cause %q, want one with PID %d", e.Cause, d.Process.Pid)
	}
}
