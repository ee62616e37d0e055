// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

func TestExecIsFoundWithAndWithoutDescriptors(t *testing.T) {
	for name, open := range map[string]bool{"with": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", "echo ready; read x; exec sleep 1000")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			testtargets.Ready(t, cmd)
			pid := cmd.Process.Pid
			m := &Memory{}
			if open {
				m = OpenMemory(pid)
			}
			defer m.Close()
			for range 3 {
				m.triedAt = 0
				if n := m.Renew(pid); n != 0 {
					t.Fatalf("address space %d before an exec", n)
				}
			}
			if _, err := in.Write([]byte{'\n'}); err != nil {
				t.Fatal(err)
			}
			testtargets.Eventually(t, "the exec is found", func() bool { return m.Renew(pid) == 1 })
			m.triedAt = 0
			if n := m.Renew(pid); n != 1 || m.hasNoFiles() {
				t.Errorf("address space %d after one exec; no files: %v", n, m.hasNoFiles())
			}
		})
	}
}

// An exec comes between two opens in about 6 of 600 rounds.
func TestFilesOpenedDuringAnExecAreOfOneAddressSpace(t *testing.T) {
	exe, err := testtargets.Compile("execloop.c", "-O1", "-static")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	pid := cmd.Process.Pid
	m := OpenMemory(pid)
	defer m.Close()
	for range 600 {
		m.Reopen(pid)
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		testtargets.Eventually(t, "it is stopped", func() bool {
			var st Stat
			return ReadStat(pid, &st) == nil && st.State == 'T'
		})
		testtargets.Eventually(t, "the files of the last program are opened", func() bool {
			m.triedAt = 0
			m.Renew(pid)
			return !m.Ended()
		})
		if isEmptied(m.mem.fd()) {
			t.Fatal("mem is of a former address space, and pagemap is not")
		}
		var b [16]byte
		if preadBy(nil, m.maps.fd(), b[:], 0) <= 0 {
			t.Fatal("maps is of a former address space, and pagemap is not")
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(500 * time.Microsecond)) // the subject: another moment of an exec
	}
}
