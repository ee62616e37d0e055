// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestIOUringPollingThreadHasKernelFramesWithBothEngines(t *testing.T) {
	t.Parallel()
	exe := compileC(t, "sqpoll.c")
	var exit *exec.ExitError
	if err := bounded.Run(exec.Command(exe)); errors.As(err, &exit) && exit.ExitCode() == 77 {
		testtargets.Need(t, false, "io_uring", "sudo sysctl kernel.io_uring_disabled=0, or a container that allows it")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Run("ptrace", func(t *testing.T) { checkPollingThread(t, exe, nil, "--engine", "ptrace") })
	t.Run("user", func(t *testing.T) {
		testtargets.OnlyInAll(t, "another user")
		needRoot(t, "run as another user")
		needOwnTracing(t)
		checkPollingThread(t, exe, ordinary())
	})
	t.Run("perf", func(t *testing.T) {
		needsPerf(t)
		p := checkPollingThread(t, exe, nil, "--engine", "perf")
		if !slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return ofPollingThread(s) && inKernel(s) }) {
			t.Error("no sample of the polling thread has a kernel function")
		}
	})
	t.Run("no kernel frames", func(t *testing.T) {
		testtargets.OnlyInAll(t, "another option")
		needsPerf(t)
		checkPollingThread(t, exe, nil, "--engine", "perf", "--no-kernel")
	})
}

func ofPollingThread(s *profile.Sample) bool { return strings.HasPrefix(label(s, "thread"), "iou-sqp") }

// A sample of the polling thread has no frame in user space: it is under [attribute.NoUserSpace], in the kernel,
// or time without a sample.
func checkPollingThread(t *testing.T, exe string, u *testtargets.User, args ...string) *profile.Profile {
	t.Helper()
	cmd := exec.Command(exe)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if u != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID}}
	}
	testtargets.Ready(t, cmd)
	r := recordUntilAs(t, u, "CPU time of both threads", func(p *profile.Profile) bool {
		named, own := int64(0), int64(0)
		for _, s := range p.Sample {
			switch {
			case !ofPollingThread(s):
				own += s.Value[cpuColumn]
			case slices.Contains(stackOf(s), attribute.NoUserSpace):
				named += s.Value[cpuColumn]
			}
		}
		return named > 2e8 && own > 2e8
	}, append(args, "-p", strconv.Itoa(cmd.Process.Pid))...)
	for _, s := range r.Sample {
		user := slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return l.Mapping != nil && l.Mapping.File != "[kernel]"
		})
		if ofPollingThread(s) && user {
			t.Errorf("%v: a sample of the polling thread has a frame in user space: %q", args, stackOf(s))
		}
	}
	checkAccounting(t, r.stats)
	return r.Profile
}
