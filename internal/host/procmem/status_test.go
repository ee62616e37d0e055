// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
)

func TestStatusOfAProcessWithManyGroupsIsWhole(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to set groups: sudo make test")
	}
	for _, n := range []int{0, 300, 2000, 60000} {
		groups := make([]uint32, n)
		for i := range groups {
			groups[i] = 4e9 + uint32(i)
		}
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: groups}}
		pid := testtargets.Child(t, cmd).Process.Pid
		testtargets.Asleep(t, pid)
		f := OpenThread(pid, pid, nil)
		kept := OpenThread(pid, pid, NewFDBudget(10))
		for name, read := range map[string]func(*Status) error{
			"ReadStatus": func(s *Status) error { return ReadStatus(pid, s) },
			"Status":     f.Status, "Status of an open file": kept.Status,
		} {
			var s Status
			if err := read(&s); err != nil || s.Tgid != pid || s.Threads != 1 || s.CapEff == 0 || s.Switches == 0 {
				t.Errorf("%d groups, %s: %+v, error %v; want pid %d, a thread, capabilities, switches", n, name, s, err, pid)
			}
		}
		kept.Close()
	}
}
