// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"prywalk/internal/procmem"
)

func TestHeldCommandRunsOnlyWhenReleased(t *testing.T) {
	r, w, _ := os.Pipe()
	l, err := Launch(Command{Args: []string{"sh", "-c", "echo $$; exit 3"}, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.PID)); strings.HasSuffix(exe, "sh") {
		t.Errorf("runs %s before the release", exe)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(r)
	if want := fmt.Sprintf("%d\n", l.PID); string(out) != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if st, err := l.Wait(); err != nil || st.ExitStatus() != 3 {
		t.Errorf("status %#x %v", st, err)
	}
	if err := l.Signal(syscall.SIGTERM); err != os.ErrProcessDone {
		t.Errorf("Signal after Wait: %v", err)
	}
}

func TestCommandThatCannotRunGivesTheShellsCode(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	os.WriteFile(text, []byte("no program"), 0o644)
	odd := filepath.Join(dir, "odd")
	os.WriteFile(odd, []byte("\x7fELF no program"), 0o755)
	for path, want := range map[string]int{"no-such-program-here": 127, dir + "/none": 127, text: 126, odd: 126,
		dir: 126} {
		l, err := Launch(Command{Args: []string{path}})
		if err == nil {
			err = l.Release()
		}
		var e *ExecError
		if !errors.As(err, &e) || e.ExitCode() != want || !strings.Contains(e.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestHeldCommandEndsWithItsLauncher(t *testing.T) {
	l, err := Launch(Command{Args: []string{"sh", "-c", "exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	l.hold.Close() // as the end of the launcher does
	if st, err := l.Wait(); err != nil || st.ExitStatus() != exitAbandoned {
		t.Errorf("status %#x %v", st, err)
	}
}

func TestAbandonedCommandNeverRuns(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	l, err := Launch(Command{Args: []string{"touch", mark}})
	if err != nil {
		t.Fatal(err)
	}
	l.Abandon()
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

// TestLaunchedCommandStartsAsIfByAShell compares what a command inherits with what
// os/exec gives it: signals, limits, priority, descriptors.
func TestLaunchedCommandStartsAsIfByAShell(t *testing.T) {
	script := "grep -E '^(Sig(Blk|Ign|Cgt)|ShdPnd|TracerPid)' /proc/self/status; ulimit -n; ulimit -Hn; ls " +
		"/proc/self/fd | wc -l;" +
		" set -- $(cut -d')' -f2 /proc/self/stat); shift 15; echo prio $1 $2; shift 22; echo rt $1 $2"
	want, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	raised, launched := make(chan struct{}), make(chan struct{})
	go func() { // by an ordinary thread, while the controller's has a raised priority
		defer close(launched)
		<-raised
		r, w, _ := os.Pipe()
		null, _ := os.Open(os.DevNull)
		defer null.Close()
		l, err := Launch(Command{Args: []string{"sh", "-c", script}, Stdin: null, Stdout: w})
		if err != nil {
			t.Error(err)
			return
		}
		w.Close()
		l.Release()
		got, _ := io.ReadAll(r)
		l.Wait()
		if !bytes.Equal(got, want) {
			t.Errorf("launched:\n%s\nos/exec:\n%s", got, want)
		}
	}()
	with(t, Options{}, func(*Controller) {
		close(raised)
		<-launched
	})
}

func TestWaitNeverTakesTheTracersStops(t *testing.T) {
	p := start(t, "epoll", "0")
	exited := make(chan int)
	go func() {
		st, _ := p.Wait()
		exited <- st.ExitStatus()
	}()
	with(t, Options{}, func(c *Controller) {
		var s Stop
		for i := range 1000 {
			for _, tid := range []int{p.PID, p.tid} {
				if err := c.Freeze(tid, soon(), &Request{}, &s); err != nil {
					t.Errorf("look %d: %v", i, err)
					return
				}
			}
		}
		if st := c.Stats(); st.Stolen != 0 {
			t.Errorf("%+v", st)
		}
	})
	p.in.Close()
	if code := <-exited; code != 7 {
		t.Errorf("exit status %d", code)
	}
}

func TestExitStatusOfACommandThatEndsDuringLooks(t *testing.T) {
	for range 50 {
		p := start(t, "spin")
		exited := make(chan int)
		go func() {
			st, _ := p.Wait()
			exited <- st.ExitStatus()
		}()
		with(t, Options{}, func(c *Controller) {
			p.in.Close()
			var s Stop
			for {
				select {
				case code := <-exited:
					if code != 7 {
						t.Errorf("exit status %d", code)
					}
					return
				default:
				}
				for _, tid := range []int{p.PID, p.tid} {
					if err := c.Freeze(tid, procmem.Now()+2e6, &Request{}, &s); err != nil &&
						!errors.Is(err, ErrGone) && err != ErrZombie && err != ErrTimeout {
						t.Errorf("%v", err)
					}
				}
				nanosleep(20_000) // the one to end may need this processor
			}
		})
	}
}

func TestChildrenOfOtherThreadsAndOfThisOneAreLeftAlone(t *testing.T) {
	p := start(t, "spin")
	var wg sync.WaitGroup
	stop := make(chan bool)
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := exec.Command("sh", "-c", "exit 5").Run(); err == nil || err.(*exec.ExitError).ExitCode() != 5 {
					t.Errorf("child: %v", err)
				}
			}
		})
	}
	with(t, Options{}, func(c *Controller) {
		var s Stop
		for i := range 300 {
			var child *exec.Cmd
			if i%30 == 0 { // a child of the tracing thread itself, a zombie for a while
				child = exec.Command("true")
				child.Start()
			}
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				break
			}
			if got := c.WaitAny(soon()); got != l {
				t.Errorf("WaitAny gave %p", got)
				break
			}
			if err := c.Finish(l, &Request{}, &s); err != nil {
				t.Error(err)
			}
			if child != nil {
				if err := child.Wait(); err != nil {
					t.Errorf("own child: %v", err)
				}
			}
		}
	})
	close(stop)
	wg.Wait()
}

// TestTracerProcess is the tracer that the test below kills.
func TestTracerProcess(t *testing.T) {
	var tid int
	if n, _ := fmt.Sscan(os.Getenv("PTRACE_TEST_HOLD"), &tid); n != 1 {
		t.Skip("run by TestTargetRunsOnWhenTheTracerIsKilled")
	}
	with(t, Options{}, func(c *Controller) {
		l, err := c.Begin(tid)
		if err != nil {
			t.Error(err)
			return
		}
		c.await(l)
		fmt.Println("holding")
		select {}
	})
}

func TestTargetRunsOnWhenTheTracerIsKilled(t *testing.T) {
	p := start(t, "epoll", "0")
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestTracerProcess$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("PTRACE_TEST_HOLD=%d", p.tid))
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "holding\n" || state(p.tid) != 't' {
		t.Errorf("tracer said %q, state %c", line, state(p.tid))
	}
	cmd.Process.Kill()
	cmd.Wait()
	before := p.counts(t).wakeups
	eventually(t, "running on", func() bool { return p.counts(t).wakeups > before })
}
