// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stopWhole stops prywalk as job control does, at a moment at which it holds no thread of the target.
func (r *recorder) stopWhole(target int) {
	r.t.Helper()
	await(r.t, "prywalk is stopped and holds nobody", func() bool {
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
	await(t, "a thread is frozen", func() bool {
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

// TestAnotherProcessUnderTheSameNumberIsNotSampled: while prywalk is stopped its target ends, and a process
// that has nothing to do with it gets the number. Whether prywalk keeps the target's files open or, at its
// descriptor limit, opens them for each look, it must see that this is another one.
func TestAnotherProcessUnderTheSameNumberIsNotSampled(t *testing.T) {
	needRoot(t)
	for _, limit := range []string{"ulimit -n 4096", "ulimit -n 64"} {
		t.Run(limit, func(t *testing.T) {
			p := start(t, "mix", "4")
			r := limited(t, limit, "-p", strconv.Itoa(p.pid))
			r.start()
			awaitStop(t, p.pid)
			r.stopWhole(p.pid)
			p.kill()
			heir := start(t, "heir", strconv.Itoa(p.pid))
			if name := status(p.pid, "Name"); name != "heir" {
				t.Fatalf("the number is that of %q", name)
			}
			r.signal(syscall.SIGCONT)
			if code := r.wait(); code != 0 {
				t.Errorf("prywalk ended with %d: %s", code, r.stderr.String())
			}
			for _, s := range r.profile().Sample {
				if comm := strings.Join(s.Label["comm"], ","); comm != "mix" {
					t.Errorf("a sample of %q", comm)
				}
				for _, l := range s.Location {
					for _, line := range l.Line {
						if line.Function.Name == "inherit" {
							t.Fatal("the heir's stack under the predecessor's name")
						}
					}
				}
			}
			heir.verdict()
		})
	}
}
