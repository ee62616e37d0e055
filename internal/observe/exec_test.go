// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/loadedcode"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// The old address space is gone; a wrapper of the same name shows no change of name.
func TestStackAfterAnExecIsCopiedAtTheFirstSample(t *testing.T) {
	for name, renewed := range map[string]bool{"found by the observation": false, "found before": true} {
		t.Run(name, func(t *testing.T) { testStackAfterAnExec(t, renewed) })
	}
}

func testStackAfterAnExec(t *testing.T, renewed bool) {
	cmd := exec.Command("sh", "-c", "read x; exec sleep 1000")
	in, _ := testtargets.Talk(t, cmd)
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, nil)
	t.Cleanup(th.Close)
	testtargets.Eventually(t, "the shell reads", asleepAs(th, "sh"))
	proc, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Close() })
	th.Memory = proc.Memory()
	copiedStackLen := func() (n int) {
		OnThread(func() {
			ctl := ptrace.NewController(ptrace.Options{})
			defer ctl.Close()
			what, raw, err := New(ctl, NewPool(1), ModePassiveOnly).Begin(th)
			if err != nil || what != Done {
				t.Errorf("observation of a sleeper: %v, %v", what, err)
				return
			}
			n = len(raw.Mem.Stack.Bytes)
		})
		return n
	}
	if n := copiedStackLen(); n == 0 {
		t.Fatal("no stack of the shell")
	}
	if _, err := in.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "sleep sleeps", asleepAs(th, "sleep"))
	th.tls, th.tlsSpace = 1, th.addressSpace() // as of a stop before
	if renewed {
		th.Memory.Renew(th.PID)
	}
	if n := copiedStackLen(); n == 0 {
		t.Error("no stack of the program that it runs now")
	}
	if th.threadPointer() != 0 {
		t.Error("the thread pointer is the former program's")
	}
}

func asleepAs(th *Thread, name string) func() bool {
	return func() bool {
		var comm procmem.Comm
		call, err := th.files.Syscall()
		if err != nil || call.Running || call.Nr < 0 || th.files.Comm(&comm) != nil || comm.String() != name {
			return false
		}
		nr := process.SyscallName(hostArch(), call.Nr)
		return strings.Contains(nr, "read") || strings.Contains(nr, "nanosleep")
	}
}

func TestIncompleteSleeperIsSampledAgainNowAndThen(t *testing.T) {
	var d retryBackoff
	var at []int
	for i := 1; i <= 600; i++ {
		if d.countUnchanged(true) {
			at = append(at, i)
		}
	}
	if want := []int{2, 8, 32, 128, 512}; !slices.Equal(at, want) {
		t.Errorf("observed again at %v, want %v", at, want)
	}
	if d.countUnchanged(false) || d != (retryBackoff{}) {
		t.Error("a complete stack is doubted")
	}
}
