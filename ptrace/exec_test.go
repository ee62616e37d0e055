// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

func TestThreadThatIsInterruptedDuringItsExecStops(t *testing.T) {
	exe, err := testtargets.Compile("execs.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		cmd := exec.Command(exe, "first", "0", "0", "0", "40")
		testtargets.Ready(t, cmd)
		if err := unix.Kill(cmd.Process.Pid, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		with(t, Options{}, func(c *Controller) {
			var stop Stop
			for range 500 {
				if err := c.StopThread(cmd.Process.Pid, Now().Add(20e9), &Request{}, &stop); errors.Is(err, ErrTimeout) {
					t.Error("a thread that calls exec does not stop within 20 s")
					return
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}
