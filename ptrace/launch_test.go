// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"prywalk/internal/host/launch"
	"prywalk/internal/testtargets/bounded"
)

func TestLaunchedCommandStartsAsIfByAShell(t *testing.T) {
	script := "grep -E '^(Sig(Blk|Ign|Cgt)|ShdPnd|TracerPid)' /proc/self/status; ulimit -n; ulimit -Hn; ls " +
		"/proc/self/fd | wc -l;" +
		" set -- $(cut -d')' -f2 /proc/self/stat); shift 15; echo prio $1 $2; shift 22; echo rt $1 $2"
	want, err := bounded.Output(exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	raised, launched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(launched)
		<-raised
		out := filepath.Join(t.TempDir(), "out")
		l, err := launch.Start([]string{"sh", "-c", `exec </dev/null >"$0"; ` + script, out})
		if err != nil {
			t.Error(err)
			return
		}
		l.Release()
		l.Wait()
		got, _ := os.ReadFile(out)
		if !bytes.Equal(got, want) {
			t.Errorf("launched:\n%s\nwant as by os/exec:\n%s", got, want)
		}
	}()
	with(t, Options{}, func(*Controller) {
		close(raised)
		bounded.Receive(t, "the launched command ends", launched)
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
				if err := c.StopThread(tid, soon(), &Request{}, &s); err != nil {
					t.Errorf("stop %d: %v", i, err)
					return
				}
			}
		}
		if st := c.Stats(); st.LostReports != 0 {
			t.Errorf("%d stops were reaped by another wait, want 0: %+v", st.LostReports, st)
		}
	})
	p.in.Close()
	if code := bounded.Receive(t, "the exit status", exited); code != 7 {
		t.Errorf("exit status %d, want 7", code)
	}
}

func TestExitStatusOfACommandThatEndsDuringSamples(t *testing.T) {
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
						t.Errorf("exit status %d, want 7", code)
					}
					return
				default:
				}
				for _, tid := range []int{p.PID, p.tid} {
					if err := c.StopThread(tid, Now().Add(2e6), &Request{}, &s); err != nil &&
						!errors.Is(err, ErrGone) && err != ErrZombie && err != ErrTimeout {
						t.Errorf("stop of an ending thread: %v", err)
					}
				}
				nanosleep(20_000) // the thread may need this CPU
			}
		})
	}
}

func TestWaitAnyDoesNotReapChildren(t *testing.T) {
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
				cmd := exec.Command("sh", "-c", "exit 5")
				if err := bounded.Run(cmd); err == nil || cmd.ProcessState.ExitCode() != 5 {
					t.Errorf("child of another thread: %v", err)
				}
			}
		})
	}
	with(t, Options{}, func(c *Controller) {
		var s Stop
		for i := range 300 {
			var child *exec.Cmd
			if i%30 == 0 {
				child = exec.Command("true")
				child.Start()
			}
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				break
			}
			if got := c.WaitAny(soon()); got != l {
				t.Errorf("WaitAny returns %p, want %p", got, l)
				break
			}
			if err := c.Finish(l, &Request{}, &s); err != nil {
				t.Error(err)
			}
			if child != nil {
				if err := child.Wait(); err != nil {
					t.Errorf("child of this thread: %v", err)
				}
			}
		}
	})
	close(stop)
	wg.Wait()
}

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
		t.Errorf("tracer wrote %q, state %c; want holding, t", line, state(p.tid))
	}
	cmd.Process.Kill()
	cmd.Wait()
	before := p.counts(t).wakeups
	eventually(t, "the target runs", func() bool { return p.counts(t).wakeups > before })
}
