// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

const endsItself = "PRYWALK_TEST_ENDS_ITSELF"

func TestASignalEndsADumpAfterItHasDetached(t *testing.T) {
	if os.Getenv(endsItself) != "" {
		endWithAController()
	}
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		ctx, cancel := context.WithTimeout(t.Context(), testtargets.Patience)
		defer cancel()
		// Signals that are ignored, as by nohup, are not awaited.
		cmd := exec.CommandContext(ctx, testtargets.NeedProgram(t, "env"), "--default-signal", os.Args[0],
			"-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", endsItself, sig))
		out, _ := cmd.Output()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !strings.HasSuffix(string(out), "detached") || status.Signal() != sig {
			t.Errorf("%v: %q and %v, want \"detached\" and an end by the signal", sig, out, cmd.ProcessState)
		}
	}
}

func endWithAController() {
	runtime.LockOSThread()
	ctl := ptrace.NewController(ptrace.Options{})
	EndAfterDetach()
	var sig syscall.Signal
	_, _ = fmt.Sscan(os.Getenv(endsItself), &sig)
	_ = unix.Kill(os.Getpid(), sig)
	testtargets.Comes(ptrace.Suspending)
	fmt.Print("detached")
	ctl.Close()
	select {}
}
