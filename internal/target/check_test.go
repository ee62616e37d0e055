package target

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"

	"golang.org/x/sys/unix"
)

func TestOpenRefusesNumbersWithoutProcess(t *testing.T) {
	for _, pid := range []int{-1, 0, 1 << 30} {
		_, err := Open(pid)
		wantKind(t, err, ErrNotFound)
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
			e := wantKind(t, err, ErrThread)
			if !strings.Contains(e.Next, "-p "+strconv.Itoa(os.Getpid())) {
				t.Errorf("next step: %q", e.Next)
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
	eventually(t, "true ends", func() bool {
		s, err := procFS.status(c.Process.Pid)
		return err == nil && s.State == 'Z'
	})
	_, err := Open(c.Process.Pid)
	wantKind(t, err, ErrZombie)
}

func TestOpenRefusesAKernelThread(t *testing.T) {
	if s, err := procFS.status(2); err != nil || s.Name != "kthreadd" {
		t.Skip("process 2 is not kthreadd: in a pid namespace")
	}
	_, err := Open(2)
	wantKind(t, err, ErrKernelThread)
}

func TestProgramsOf32BitsAreRefused(t *testing.T) {
	for _, c := range []struct {
		class   byte
		machine uint16
		want    string
	}{
		{1, 3, "32-bit"}, {1, 40, "32-bit"}, {1, machX86_64, "x32"}, {2, 243, "machine 243"},
	} {
		e := wantKind(t, supported(1, c.class, c.machine), Err32Bit)
		if !strings.Contains(e.Cause, c.want) {
			t.Errorf("%d/%d: %s", c.class, c.machine, e.Cause)
		}
	}
	if err := supported(1, elfClass64, machARM64); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatEndedIsNotFound(t *testing.T) {
	c := child(t, "sleep", "1000")
	testtargets.Asleep(t, c.Process.Pid)
	p := open(t, c.Process.Pid)
	if !p.Alive() {
		t.Fatal("not alive")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if p.Alive() {
		t.Error("still alive")
	}
	_, err := p.Refresh()
	wantKind(t, err, ErrNotFound)
	_, err = p.Threads(nil)
	wantKind(t, err, ErrNotFound)
}

func TestTheFirstThreadMayHaveEnded(t *testing.T) {
	c := child(t, "python3", "-c", `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).syscall(60 if __import__("platform").machine() == "x86_64" else 93, 0)`)
	eventually(t, "the first thread ends", func() bool {
		s, err := procFS.status(c.Process.Pid)
		return err == nil && s.State == 'Z'
	})
	p := open(t, c.Process.Pid)
	if p.MemoryTID() == p.PID || len(p.Space().Modules()) == 0 {
		t.Errorf("memory by %d, %d modules", p.MemoryTID(), len(p.Space().Modules()))
	}
	if !p.Alive() {
		t.Error("not alive")
	}
}

func TestExplainNamesTheTracer(t *testing.T) {
	gdb, err := exec.LookPath("strace")
	if err != nil {
		if gdb, err = exec.LookPath("gdb"); err != nil {
			t.Skip("neither strace nor gdb is installed")
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
	start(t, d)
	eventually(t, "a tracer attaches", func() bool {
		s, err := procFS.status(c.Process.Pid)
		return err == nil && s.Tracer != 0
	})
	e := wantKind(t, Explain(c.Process.Pid, unix.EPERM), ErrTraced)
	if !strings.Contains(e.Cause, strconv.Itoa(d.Process.Pid)) {
		t.Errorf("cause: %s", e.Cause)
	}
}

// TestMain plays a process that does not want to be looked at.
func TestMain(m *testing.M) {
	if os.Getenv("TARGET_TEST_HIDE") != "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// TestOrdinaryUserIsToldTheReason runs this test program again as another user.
func TestOrdinaryUserIsToldTheReason(t *testing.T) {
	if pid := os.Getenv("TARGET_TEST_PID"); pid != "" {
		n, _ := strconv.Atoi(pid)
		_, err := Open(n)
		e := wantKind(t, err, ErrDenied)
		if !strings.Contains(e.Cause, os.Getenv("TARGET_TEST_CAUSE")) || e.Next == "" {
			t.Errorf("%q", e)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	self := copyExecutable(t)
	asNobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	root := child(t, "sleep", "1000")
	hidden := exec.Command(self)
	hidden.Env = append(os.Environ(), "TARGET_TEST_HIDE=1")
	hidden.SysProcAttr = asNobody
	hidden.Dir = "/"
	testtargets.Ready(t, hidden)
	for cause, pid := range map[string]int{"runs as user root": root.Process.Pid, "not dumpable": hidden.Process.Pid} {
		c := exec.Command(self, "-test.run=TestOrdinaryUserIsToldTheReason", "-test.v")
		c.SysProcAttr = asNobody
		c.Dir = "/"
		c.Env = append(os.Environ(), "TARGET_TEST_PID="+strconv.Itoa(pid), "TARGET_TEST_CAUSE="+cause)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cause, err, out)
		}
	}
}

// copyExecutable copies the test program to where every user can run it.
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
