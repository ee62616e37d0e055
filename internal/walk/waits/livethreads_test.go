// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func startSleeper(t *testing.T, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		if attr != nil && errors.Is(err, syscall.EPERM) {
			t.Skip("needs root to make a pid namespace: sudo make test")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestOnlyASharedLockMayBelongToAnotherProcess(t *testing.T) {
	waiter, other, unobserved := startSleeper(t, nil).Process.Pid, startSleeper(t, nil).Process.Pid, os.Getpid()
	threads := NewLiveThreads(waiter, []int{waiter, other})
	for _, c := range []struct {
		tid    int
		shared bool
		want   int
	}{
		{waiter, false, waiter}, {waiter, true, waiter}, {other, false, 0}, {other, true, other},
		{unobserved, true, 0},
	} {
		if tid, ok := threads.Thread(c.tid, c.shared); tid != c.want || ok != (c.want != 0) {
			t.Errorf("thread %d, shared %v: %d, %v, want %d", c.tid, c.shared, tid, ok, c.want)
		}
	}
}

func TestAnEndedThreadOwnsNoLock(t *testing.T) {
	cmd := startSleeper(t, nil)
	pid := cmd.Process.Pid
	threads := NewLiveThreads(pid, nil)
	if tid, ok := threads.Thread(pid, false); tid != pid || !ok {
		t.Fatalf("%d, %v of a live thread %d", tid, ok, pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "the thread is a zombie", func() bool {
		var stat procmem.Stat
		return procmem.ReadStat(pid, &stat) == nil && stat.State == 'Z'
	})
	if tid, ok := threads.Thread(pid, false); tid != 0 || ok {
		t.Errorf("%d, %v of a zombie", tid, ok)
	}
	_ = cmd.Wait()
	if tid, ok := threads.Thread(pid, false); tid != 0 || ok {
		t.Errorf("%d, %v of an ended thread", tid, ok)
	}
}

func TestAThreadOfTheParentMayHaveLockedBeforeTheFork(t *testing.T) {
	child, sibling := startSleeper(t, nil).Process.Pid, startSleeper(t, nil).Process.Pid
	threads := NewLiveThreads(child, []int{sibling})
	for tid, want := range map[int]int{os.Getpid(): os.Getpid(), child: 0, sibling: 0} {
		if pid := threads.Parent(tid); pid != want {
			t.Errorf("thread %d is of the parent process %d, want %d", tid, pid, want)
		}
	}
}

func TestThreadsOfAPIDNamespaceAreKnownByTheirIDsInIt(t *testing.T) {
	inside := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	pid, outside := startSleeper(t, inside).Process.Pid, startSleeper(t, nil).Process.Pid
	threads := NewLiveThreads(pid, []int{outside})
	for inner, want := range map[int]int{1: pid, 2: 0, pid: 0, outside: 0} {
		if tid, ok := threads.Thread(inner, true); tid != want || ok != (want != 0) {
			t.Errorf("thread %d of the namespace: %d, %v, want %d", inner, tid, ok, want)
		}
	}
	if ppid := threads.Parent(os.Getpid()); ppid != 0 {
		t.Errorf("the parent process %d of another namespace has a thread of this ID", ppid)
	}
}
