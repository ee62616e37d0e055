// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
)

// An exec is found with open files, and without, as beyond the budget of descriptors.
func TestExecIsFoundWithAndWithoutDescriptors(t *testing.T) {
	for name, open := range map[string]bool{"with": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", "echo ready; read x; exec sleep 1000")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			testtargets.Ready(t, cmd) // before its output the exec of the shell itself may not be complete
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
