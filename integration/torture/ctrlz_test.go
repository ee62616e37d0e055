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

	"prywalk/internal/testtargets"
)

func suspendResume(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}, sig syscall.Signal, target int) (stopped bool) {
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
	checkReleased(t, target)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	return stopped
}

// A terminal's stop signals have no effect in an orphaned group.
var inGroup = &syscall.SysProcAttr{Setpgid: true}

func TestSuspendedProfilerHoldsNoThread(t *testing.T) {
	stops := testtargets.Times(20, 60)
	if long {
		stops = 1000
	}
	signals := []syscall.Signal{syscall.SIGTSTP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	p := start(t, "mix", "8")
	for _, freq := range testtargets.First([]string{"1000", "99"}) {
		r := recordAs(t, inGroup, "-p", strconv.Itoa(p.pid), "-F", freq)
		r.awaitSamples(p.pid)
		for i := range stops {
			time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // the subject: any moment
			if !suspendResume(t, r.cmd, r.ended, signals[i%len(signals)], p.pid) {
				t.Fatalf("prywalk ended at stop signal %d of %d: %s", i+1, stops, r.stderr.String())
			}
		}
		p.awaitProgress(20)
		if s := r.stop(); s.Stopped == 0 {
			t.Errorf("no stop of a thread in the whole recording: %+v", s)
		}
	}
	if c := p.finish(); c["woken"] != 0 || c["other"] != 0 || c["eintr"] != 0 {
		t.Errorf("the target's counts are %v, want woken, other and eintr 0", c)
	}
}

func TestSuspendedCommandsHoldNoThread(t *testing.T) {
	runs := testtargets.Times(2, 8)
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
			time.Sleep(time.Duration(i*i) * 400 * time.Microsecond) // the subject: any moment
			suspendResume(t, r.cmd, r.ended, syscall.SIGTSTP, p.pid)
			if code := r.wait(); code != 0 {
				t.Errorf("%v: exit code %d, want 0: %s", args, code, r.stderr.String())
			}
		}
	}
}

func TestStopSignalFollowedByContinueLeavesTheRecordingRunning(t *testing.T) {
	p := start(t, "mix", "8")
	r := recordAs(t, inGroup, "-p", strconv.Itoa(p.pid))
	r.awaitSamples(p.pid)
	for range 20 {
		r.signal(syscall.SIGTSTP)
		time.Sleep(time.Duration(rand.IntN(3_000)) * time.Microsecond) // the subject: any moment
		r.signal(syscall.SIGCONT)
	}
	// prywalk continues by itself, unless it sees the last SIGTSTP after the last SIGCONT.
	r.signal(syscall.SIGINT)
	for gone, end := false, time.Now().Add(patience); !gone && time.Now().Before(end); {
		select {
		case <-r.ended:
			gone = true
		case <-time.After(time.Second):
			if strings.HasPrefix(status(r.cmd.Process.Pid, "State"), "T") {
				t.Log("the last SIGTSTP stopped prywalk")
				r.signal(syscall.SIGCONT)
			}
		}
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, r.stderr.String())
	}
	checkReleased(t, p.pid)
}
