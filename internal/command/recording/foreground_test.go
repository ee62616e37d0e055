// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The terminal is that of another session, which this test program leads.
func TestForegroundIsTheGroupThatTheTerminalGivesKeysTo(t *testing.T) {
	const of = "RECORDING_TEST_FOREGROUND"
	if os.Getenv(of) != "" {
		before := inForeground()
		other := exec.Command("sleep", "1000")
		other.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: 0, Setpgid: true}
		if before {
			testtargets.Child(t, other)
		}
		fmt.Println("in the foreground:", before, inForeground())
		return
	}
	for want, attr := range map[string]*syscall.SysProcAttr{
		"in the foreground: true false\n":  {Setsid: true, Setctty: true, Ctty: 0},
		"in the foreground: false false\n": {Setsid: true}, // no terminal
	} {
		self := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
		self.Env = append(os.Environ(), of+"=1")
		self.Stdin = testtargets.NewTerminal(t, 80).Slave
		self.SysProcAttr = attr
		out, err := bounded.Output(self)
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%v, %q, want %q", err, out, want)
		}
	}
}
