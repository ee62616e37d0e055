// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/launch"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"

	"golang.org/x/sys/unix"
)

func isRefused(t *testing.T, tid int) (err error) {
	with(t, Options{}, func(c *Controller) {
		var l *Attachment
		if l, err = c.Begin(tid); err == nil {
			c.Cancel(l)
		}
	})
	return err
}

func TestTracedThreadIsRefused(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		l, err := c.Begin(p.tid)
		if err != nil {
			t.Error(err)
			return
		}
		if err := isRefused(t, p.tid); err != ErrTraced {
			t.Errorf("the traced thread: %v, want %v", err, ErrTraced)
		}
		if err := isRefused(t, p.PID); err != nil {
			t.Errorf("another thread of the process: %v, want no error", err)
		}
		c.Cancel(l)
	})
}

func TestARefusalWithoutACauseIsKnown(t *testing.T) {
	p := start(t, "spin")
	if err := seizeRefused(p.tid, syscall.EPERM, true); err != errNotRefusedNow {
		t.Errorf("a caller that may read the memory: %v, want a cause that is gone", err)
	}
	if err := seizeRefused(p.tid, syscall.EPERM, false); err != ErrDenied {
		t.Errorf("a caller that may not: %v, want a possible filter as the cause", err)
	}
	with(t, Options{}, func(c *Controller) {
		l, err := c.Begin(p.tid)
		if err != nil || !c.stopper.seized {
			t.Errorf("Begin: %v, seized %v", err, c.stopper.seized)
			return
		}
		c.Cancel(l)
	})
	p.Signal(syscall.SIGKILL)
	p.Wait()
	if err := allowedOrDenied(p.PID); err != ErrGone {
		t.Errorf("an ended thread: %v", err)
	}
}

func TestThreadsThatCannotBeStoppedAreRefused(t *testing.T) {
	p := start(t, "sleep")
	p.Signal(syscall.SIGKILL)
	eventually(t, "the target is a zombie", func() bool { return state(p.PID) == 'Z' })
	if err := isRefused(t, p.PID); err != ErrZombie {
		t.Errorf("zombie: %v", err)
	}
	p.Wait()
	if err := isRefused(t, p.PID); err != ErrGone {
		t.Errorf("a process that was waited for: %v", err)
	}
	if err := isRefused(t, os.Getpid()); err != ErrSelf {
		t.Errorf("this process: %v", err)
	}
	if k := kernelThread(); k == 0 {
		t.Log("no kernel thread is visible here")
	} else if err := isRefused(t, k); err != ErrKernelThread {
		t.Errorf("kernel thread: %v", err)
	}
}

func kernelThread() int {
	var s procmem.Stat
	if procmem.ReadStat(2, &s) == nil && s.KernelThread() {
		return 2
	}
	return 0
}

var nobody = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}

func TestAsUnprivilegedUser(t *testing.T) {
	var mine, other int
	if n, _ := fmt.Sscan(os.Getenv("PTRACE_TEST_OTHER"), &other); n != 1 {
		t.Skip("run by TestOrdinaryUserSamplesOwnProcessesOnly")
	}
	if err := isRefused(t, other); err != ErrDenied {
		t.Errorf("another user's process: %v", err)
	}
	if err := allowedOrDenied(other); err != ErrDenied {
		t.Errorf("another user's process, if ptrace is allowed otherwise: %v", err)
	}
	l, err := launch.Start([]string{"sleep", "1000"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Wait()
	defer l.Signal(syscall.SIGKILL)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	mine = l.PID
	with(t, Options{}, func(c *Controller) {
		var s Stop
		if err := c.StopThread(mine, soon(), &Request{Stack: make([]byte, 512)}, &s); err != nil || s.Copy.StackLen != 512 {
			t.Errorf("own child: %v, %+v", err, s)
		}
		t.Log("scheduling", c.Scheduling())
	})
}

func TestOrdinaryUserSamplesOwnProcessesOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user: sudo make test")
	}
	p := start(t, "spin")
	exe, cleanup := copySelf(t)
	defer cleanup()
	cmd := exec.Command(exe, "-test.run=^TestAsUnprivilegedUser$", "-test.v")
	cmd.Dir = "/"
	cmd.SysProcAttr = nobody
	cmd.Env = append(os.Environ(), fmt.Sprintf("PTRACE_TEST_OTHER=%d", p.tid))
	out, err := bounded.AllOutput(cmd)
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAsUnprivilegedUser") {
		t.Errorf("%v\n%s", err, out)
	}
}

func copySelf(t *testing.T) (string, func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ptrace-nobody")
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755)
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := dir + "/ptrace.test"
	if err := errors.Join(os.WriteFile(exe, b, 0o755), os.Chmod(exe, 0o755)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return exe, func() { os.RemoveAll(dir) }
}

func TestAThreadThatEndsDuringItsStopIsReportedAsGone(t *testing.T) {
	p := start(t, "churn")
	seen := map[string]int{}
	with(t, Options{}, func(c *Controller) {
		var tids []int
		for seen["ok"] < 200 && len(tids) < 1<<20 {
			tids, _ = procmem.ListTasks(p.PID, tids[:0])
			for _, tid := range tids {
				if tid == p.PID {
					continue
				}
				var s Stop
				err := c.StopThread(tid, soon(), &Request{Stack: make([]byte, 64)}, &s)
				if err == nil {
					seen["ok"]++
				} else if errors.Is(err, ErrGone) || errors.Is(err, ErrZombie) {
					seen["gone"]++
				} else {
					t.Errorf("stop of thread %d: %v", tid, err)
					return
				}
			}
			nanosleep(20_000)
		}
	})
	before := p.counts(t).wakeups
	eventually(t, "threads still start and end", func() bool { return p.counts(t).wakeups > before })
	t.Log(seen)
}

func TestTargetMayBeKilledDuringAStop(t *testing.T) {
	for range 20 {
		p := start(t, "spin")
		with(t, Options{}, func(c *Controller) {
			for _, tid := range []int{p.tid, p.PID} {
				if _, err := c.Begin(tid); err != nil {
					t.Error(err)
				}
			}
			var held []*Attachment
			for len(held) < 2 {
				held = append(held, c.WaitAny(soon()))
			}
			p.Signal(syscall.SIGKILL)
			for _, l := range held {
				var s Stop
				if err := c.Finish(l, &Request{}, &s); err != nil && err != ErrGone {
					t.Errorf("Finish: %v", err)
				}
			}
			exited := make(chan unix.WaitStatus)
			go func() {
				st, _ := p.Wait()
				exited <- st
			}()
			for {
				select {
				case st := <-exited:
					if !st.Signaled() || st.Signal() != syscall.SIGKILL {
						t.Errorf("status %#x, want killed by SIGKILL", st)
					}
					return
				default:
					c.WaitAny(Now().Add(1e6))
				}
			}
		})
	}
}

func TestTargetThatCallsExecDuringStopsContinues(t *testing.T) {
	bin, err := buildTarget()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		const script = `exec sh -c 'exec "$0" sleep </dev/null >/dev/null' "$0"`
		l, err := launch.Start([]string{"sh", "-c", script, bin})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		with(t, Options{}, func(c *Controller) {
			var s Stop
			for range 2000 {
				err := c.StopThread(l.PID, soon(), &Request{Stack: make([]byte, 64)}, &s)
				if err != nil && (errors.Is(err, ErrGone) || errors.Is(err, ErrZombie)) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		if st, err := l.Wait(); err != nil || st.ExitStatus() != 7 {
			t.Fatalf("status %#x, %v; want exit status 7", st, err)
		}
	}
}

// A thread that execs gets the number of its process's first thread, while both may have been seized.
func TestAThreadReplacedByExecHasNoOtherTracer(t *testing.T) {
	program := buildC(t, `
#include <pthread.h>
#include <unistd.h>
static char **args;
static void *again(void *p) { execv("/proc/self/exe", args); return 0; }
static void *spin(void *p) { for (;;) ; }
int main(int n, char **v) {
	args = v;
	pthread_t t;
	pthread_create(&t, 0, spin, 0);
	pthread_create(&t, 0, again, 0);
	for (;;) ;
}`)
	cmd := exec.Command(program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	seen := map[string]int{}
	with(t, Options{}, func(c *Controller) {
		var tids []int
		for n := 0; seen["ok"] < 300 && n < 1<<20; n++ {
			tids, _ = procmem.ListTasks(cmd.Process.Pid, tids[:0])
			for _, tid := range tids {
				_, err := c.Begin(tid)
				switch {
				case err == nil:
					seen["ok"]++
				case errors.Is(err, ErrGone), errors.Is(err, ErrZombie), errors.Is(err, ErrBusy), errors.Is(err, ErrPending):
					seen[errs.Of(err).Word()]++
				default:
					t.Errorf("thread %d of %v: %v", tid, tids, err)
					return
				}
			}
			for l := c.WaitAny(Now().Add(1e6)); l != nil; l = c.WaitAny(Now()) {
				var s Stop
				if err := c.Finish(l, &Request{}, &s); err != nil && err != ErrGone {
					t.Errorf("Finish: %v", err)
				}
			}
		}
	})
	t.Log(seen)
}

func buildC(t *testing.T, text string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("cc", "-O1", "-pthread", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := bounded.AllOutput(cmd); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
