// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets/bounded"
)

// The state is the process's, so that another one takes it: this test program again.
func TestAProgramIsGivenTheSignalsOfItsCallersStart(t *testing.T) {
	const of, blocked = "LAUNCH_TEST_INHERIT", 1 << (uint(unix.SIGUSR2) - 1)
	ignored := procmem.SetOf(unix.SIGHUP) | procmem.SetOf(unix.SIGTERM) | procmem.SetOf(lastSignal)
	if os.Getenv(of) != "" {
		runtime.LockOSThread() // its mask is this test's
		before := ignoredNow()
		was := signalState{ignored: ignored, blocked: blocked}.inherit()
		var now unix.Sigset_t
		err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now)
		fmt.Printf("ignored %x, was blocked %x, blocked %x %v\n", ignoredNow()&^before, was.Val[0]&blocked, now.Val[0], err)
		return
	}
	self := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	self.Env = append(os.Environ(), of+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := bounded.Output(self)
	want := fmt.Sprintf("ignored %x, was blocked 0, blocked %x <nil>\n", ignored&^ignoredNow(), blocked)
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}
