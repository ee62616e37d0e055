// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// A wrapper of the same name leaves the thread's name unchanged.
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
		procmem.OnOSThread(func() {
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
	th.copies.tls, th.copies.tlsSpace = 1, th.addressSpace()
	if renewed {
		th.Memory.Renew(th.ID.PID)
	}
	if n := copiedStackLen(); n == 0 {
		t.Error("no stack of the program that it runs now")
	}
	if th.threadPointer() != 0 {
		t.Error("the thread pointer is the former program's")
	}
}

// The first stop copies nothing of the new program, as its memory was opened before the exec.
func TestAStopIsRepeatedAfterAnExecAndBothAreRecorded(t *testing.T) {
	th, in := runsAfterALine(t)
	observing(NewPool(1), ModeAlwaysStop, func(o *Observer) {
		s, err := oneSample(o, th)
		if err != nil || len(th.TakeLostStops()) != 0 {
			t.Fatalf("a stop of the shell: %v, or it is recorded as lost", err)
		}
		o.pool.Put(s)
		execs(t, th, in)
		finished := o.Stops.ctl.Stats().Finished
		th.stops.notStopped.Refused = true
		s, err = oneSample(o, th)
		if err != nil || len(s.Mem.Stack.Bytes) == 0 || s.How != ByStop || !s.NotStopped.Refused {
			t.Fatalf("%v; %+v; want a stack of the new program, and the refusal before", err, s)
		}
		lost := th.TakeLostStops()
		if n := o.Stops.ctl.Stats().Finished - finished; n != 2 || len(lost) != 1 || lost[0].StopTime <= 0 {
			t.Errorf("%d stops, of which lost: %+v; want 2, the first one lost, with its length", n, lost)
		}
		if again := th.TakeLostStops(); len(again) != 0 || !th.sleep.base.valid {
			t.Errorf("lost stops are returned twice: %v; the sample is a baseline: %v, want true", again, th.sleep.base.valid)
		}
	})
}

func TestAStopThatIsNotRepeatedAfterAnExecIsRecorded(t *testing.T) {
	th, in := runsAfterALine(t)
	observing(NewPool(1), ModeAuto, func(o *Observer) {
		execs(t, th, in)
		if outcome, _, err := o.Begin(th); outcome != Pending {
			t.Fatalf("outcome %v, %v; want Pending", outcome, err)
		}
		o.LimitStops(1) // no further stop is allowed
		if err := collected(o); !errors.Is(err, errs.MaxPause) || len(th.TakeLostStops()) != 1 || th.sleep.base.valid {
			t.Errorf("%v, a baseline: %v; want refused, one lost stop, and no baseline", err, th.sleep.base.valid)
		}
	})
}

func runsAfterALine(t *testing.T) (th *Thread, in io.Writer) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read x; exec sh -c 'while :; do :; done'")
	in, _ = testtargets.Talk(t, cmd)
	th = NewThread(cmd.Process.Pid, cmd.Process.Pid, nil)
	t.Cleanup(th.Close)
	testtargets.Eventually(t, "the shell reads", asleepAs(th, "sh"))
	proc, err := loadedcode.Open(th.ID.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proc.Close() })
	th.Memory = proc.Memory()
	return th, in
}

func execs(t *testing.T, th *Thread, in io.Writer) {
	t.Helper()
	if _, err := in.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "the new program runs", func() bool {
		args, err := os.ReadFile("/proc/" + strconv.Itoa(th.ID.PID) + "/cmdline")
		call, callErr := th.files.Syscall()
		return err == nil && strings.HasPrefix(string(args), "sh\x00-c\x00while") && callErr == nil && call.Running
	})
}

func asleepAs(th *Thread, name string) func() bool {
	return func() bool {
		var comm procmem.Comm
		call, err := th.files.Syscall()
		if err != nil || call.Running || call.Nr < 0 || th.files.Comm(&comm) != nil || comm.String() != name {
			return false
		}
		nr := process.HostSyscallName(call.Nr)
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
	if d.countUnchanged(false) || d != 0 {
		t.Error("a complete stack is doubted")
	}
}
