// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stoppedAs sends a stop signal to prywalk, which may be about to end, waits until it is stopped, and checks that
// it holds no thread then. A tracee of a stopped tracer may stand still as long as that is stopped.
func stoppedAs(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}, sig syscall.Signal, target int) (stopped bool) {
	t.Helper()
	_ = cmd.Process.Signal(sig)
	await(t, "prywalk is stopped, or has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		stopped = strings.HasPrefix(status(cmd.Process.Pid, "State"), "T")
		return stopped
	})
	unharmed(t, target)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	return stopped
}

// inGroup puts prywalk in a process group of its own. A stop signal of a terminal does nothing in an orphaned one.
var inGroup = &syscall.SysProcAttr{Setpgid: true}

// TestAStoppedProfilerHoldsNoThread: Ctrl-Z. Before, some thread stood still after 28 of 60 stops at 99 ticks a second
// and after 68 of 90 at 1,000; 1,000 stops at each, made by hand after, left none.
func TestAStoppedProfilerHoldsNoThread(t *testing.T) {
	stops := 60
	if long {
		stops = 1000
	}
	signals := []syscall.Signal{syscall.SIGTSTP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	p := start(t, "mix", "8")
	for _, freq := range []string{"99", "1000"} {
		r := recordAs(t, inGroup, "-p", strconv.Itoa(p.pid), "-F", freq)
		r.awaitSamples(p.pid)
		for i := range stops {
			time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
			if !stoppedAs(t, r.cmd, r.ended, signals[i%len(signals)], p.pid) {
				t.Fatalf("it was not stopped: %s", r.stderr.String())
			}
		}
		p.works(20) // prywalk goes on, and so does the target
		if s := r.stop(); s.Frozen == 0 {
			t.Errorf("it has looked at nobody: %+v", s)
		}
	}
	if c := p.verdict(); c["woken"] != 0 || c["other"] != 0 || c["eintr"] != 0 {
		t.Errorf("the target saw %v", c)
	}
}

func TestCommandsThatAreStoppedHoldNoThread(t *testing.T) {
	runs := 8
	if long {
		runs = 200
	}
	p := start(t, "mix", "8")
	pid := strconv.Itoa(p.pid)
	for _, args := range [][]string{{"dump"}, {"dump", "--atomic"}, {"record", "--engine", "ptrace", "-d", "0.02"}} {
		for i := range runs {
			r := &recorder{t: t, dir: t.TempDir(), ended: make(chan struct{})}
			r.cmd = exec.Command(binary, append(args, "-p", pid)...)
			r.cmd.Dir, r.cmd.Stderr, r.cmd.SysProcAttr = r.dir, &r.stderr, inGroup
			r.start()
			time.Sleep(time.Duration(i*i) * 400 * time.Microsecond)
			stoppedAs(t, r.cmd, r.ended, syscall.SIGTSTP, p.pid)
			if code := r.wait(); code != 0 {
				t.Errorf("%v ended with %d: %s", args, code, r.stderr.String())
			}
		}
	}
}

func TestContinuedBeforeItWasStopped(t *testing.T) {
	p := start(t, "mix", "8")
	r := recordAs(t, inGroup, "-p", strconv.Itoa(p.pid))
	r.awaitSamples(p.pid)
	for range 20 {
		r.signal(syscall.SIGTSTP)
		time.Sleep(time.Duration(rand.IntN(3_000)) * time.Microsecond)
		r.signal(syscall.SIGCONT)
	}
	// It goes on by itself, unless the last pair came so close that prywalk saw the first after the second.
	r.signal(syscall.SIGINT)
	for gone := false; !gone; {
		select {
		case <-r.ended:
			gone = true
		case <-time.After(time.Second):
			if strings.HasPrefix(status(r.cmd.Process.Pid, "State"), "T") {
				t.Log("it was stopped by the last pair")
				r.signal(syscall.SIGCONT)
			}
		}
	}
	if code := r.wait(); code != 0 {
		t.Errorf("prywalk ended with %d: %s", code, r.stderr.String())
	}
	unharmed(t, p.pid)
}
