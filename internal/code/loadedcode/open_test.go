// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/refusal"
	"prywalk/internal/host/process"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestEndedProcessIsNotFound(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	p := open(t, c.Process.Pid)
	if !p.Alive() {
		t.Fatal("Alive is false for a running process")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if p.Alive() {
		t.Error("Alive is true for an ended process")
	}
	_, err := p.Refresh()
	wantKind(t, err, refusal.Exited)
	_, err = p.Threads(nil)
	wantKind(t, err, refusal.Exited)
}

func TestTheProgramIsTheFileThatWasExecuted(t *testing.T) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		t.Fatal(err)
	}
	if f, ok := open(t, os.Getpid()).Program(); !ok || f.Inode != st.Ino {
		t.Errorf("%+v, %t; want inode %d", f, ok, st.Ino)
	}
	if f, ok := (&Process{Process: &process.Process{}}).Program(); ok {
		t.Errorf("of no process: %+v", f)
	}
}

func TestProcessWithAnEndedMainThreadIsOpened(t *testing.T) {
	c := child(t, "python3", "-c", `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).syscall(60 if __import__("platform").machine() == "x86_64" else 93, 0)`)
	testtargets.Eventually(t, "the main thread ends", func() bool {
		s, err := process.ReadStatus("/proc", c.Process.Pid)
		return err == nil && s.State == 'Z'
	})
	p := open(t, c.Process.Pid)
	if p.MemoryTID() == p.PID || len(p.Space().Modules()) == 0 {
		t.Errorf("memory is read by thread %d, %d modules; want another thread than the main one", p.MemoryTID(),
			len(p.Space().Modules()))
	}
	if !p.Alive() {
		t.Error("Alive is false for a running process")
	}
}

// Each failure comes at another step: the first one opens nothing, the last one all but the last file.
func TestAFailedOpenLeavesNoDescriptor(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	try := func() error {
		p, err := Open(c.Process.Pid)
		if err == nil {
			err = p.Close()
		}
		return err
	}
	if err := try(); err != nil { // opens what the Go runtime keeps
		t.Fatal(err)
	}
	free, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(free)
	const mostKept = 1 << 10
	failures := 0
	for limit := uint64(free); ; limit++ {
		if limit > uint64(free)+mostKept {
			t.Fatalf("Open fails with %d descriptors", mostKept)
		}
		before := testtargets.Descriptors(t)
		var err error
		testtargets.WithDescriptorsBelow(t, limit, func() { err = try() })
		if after := testtargets.Descriptors(t); after > before { // fewer: the collector closed others
			t.Fatalf("%d descriptors after an Open with %d descriptors (error %v), before %d", after, limit, err, before)
		}
		if err == nil {
			break
		}
		failures++
	}
	if failures < 2 {
		t.Errorf("%d failures, want one for each kept descriptor", failures)
	}
}

// TARGET_TEST_HIDE makes a process that cannot be traced.
func TestMain(m *testing.M) {
	if os.Getenv("TARGET_TEST_HIDE") != "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour) // a target of the tests
	}
	os.Exit(m.Run())
}

func TestOrdinaryUserGetsTheCauseOfARefusal(t *testing.T) {
	if pid := os.Getenv("TARGET_TEST_PID"); pid != "" {
		n, _ := strconv.Atoi(pid)
		_, err := Open(n)
		e := wantKind(t, err, refusal.Denied)
		if !strings.Contains(e.Cause, os.Getenv("TARGET_TEST_CAUSE")) || e.Next == "" {
			t.Errorf("error %q, want the cause %q, and a next step", e, os.Getenv("TARGET_TEST_CAUSE"))
		}
		return
	}
	testtargets.NeedRoot(t, "become another user")
	self := copyExecutable(t)
	asUnprivileged := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	root := child(t, "sleep", "1000")
	hidden := exec.Command(self)
	hidden.Env = append(os.Environ(), "TARGET_TEST_HIDE=1")
	hidden.SysProcAttr = asUnprivileged
	hidden.Dir = "/"
	testtargets.Ready(t, hidden)
	for cause, pid := range map[string]int{"runs as user root": root.Process.Pid, "not dumpable": hidden.Process.Pid} {
		c := exec.Command(self, "-test.run=TestOrdinaryUserGetsTheCauseOfARefusal", "-test.v")
		c.SysProcAttr = asUnprivileged
		c.Dir = "/"
		c.Env = append(os.Environ(), "TARGET_TEST_PID="+strconv.Itoa(pid), "TARGET_TEST_CAUSE="+cause)
		if out, err := bounded.AllOutput(c); err != nil {
			t.Errorf("%s: %v\n%s", cause, err, out)
		}
	}
}

func copyExecutable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "target-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	to := dir + "/test"
	if err := os.WriteFile(to, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}
