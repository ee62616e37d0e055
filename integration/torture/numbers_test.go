// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
)

// suspend stops prywalk by SIGSTOP at a moment when it traces no thread of the target.
func (r *recorder) suspend(target int) {
	r.t.Helper()
	await(r.t, "prywalk is stopped and traces no thread", func() bool {
		r.signal(syscall.SIGSTOP)
		await(r.t, "prywalk is stopped", func() bool {
			for _, tid := range threads(r.cmd.Process.Pid) {
				if !strings.HasPrefix(status(tid, "State"), "T") {
					return false
				}
			}
			return true
		})
		for _, tid := range threads(target) {
			if status(tid, "TracerPid") != "0" {
				r.signal(syscall.SIGCONT)
				return false
			}
		}
		return true
	})
}

func awaitStop(t *testing.T, pid int) {
	t.Helper()
	await(t, "a thread is traced", func() bool {
		for range 1000 {
			for _, tid := range threads(pid) {
				if tracer := status(tid, "TracerPid"); tracer != "0" && tracer != "" {
					return true
				}
			}
		}
		return false
	})
}

// The target's files are kept open or, at the descriptor limit, opened for each observation.
func TestAnotherProcessWithTheSamePIDIsNotSampled(t *testing.T) {
	testtargets.NeedRoot(t, "choose a process number")
	for _, limit := range []string{"ulimit -n 4096", "ulimit -n 64"} {
		t.Run(limit, func(t *testing.T) {
			p := start(t, "mix", "4")
			r := prepareLimited(t, limit, "-p", strconv.Itoa(p.pid))
			r.start()
			awaitStop(t, p.pid)
			r.suspend(p.pid)
			p.kill()
			heir := start(t, "heir", strconv.Itoa(p.pid))
			if name := status(p.pid, "Name"); name != "heir" {
				t.Fatalf("PID %d is of %q, want heir", p.pid, name)
			}
			r.signal(syscall.SIGCONT)
			if code := r.wait(); code != 0 {
				t.Errorf("prywalk's exit code is %d, want 0: %s", code, r.stderr.String())
			}
			for _, s := range r.profile().Sample {
				if comm := strings.Join(s.Label["comm"], ","); comm != "mix" {
					t.Errorf("a sample of command %q, want mix only", comm)
				}
				for _, l := range s.Location {
					for _, line := range l.Line {
						if line.Function.Name == "inherit" {
							t.Fatal("a stack of the new process among the samples of the ended one")
						}
					}
				}
			}
			heir.finish()
		})
	}
}
