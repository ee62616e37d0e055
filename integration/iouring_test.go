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

	"prywalk/internal/attribute"
	"prywalk/internal/testtargets"
)

func TestIOUringPollingThreadHasKernelFramesWithBothEngines(t *testing.T) {
	t.Parallel()
	exe := compileC(t, "sqpoll.c")
	var exit *exec.ExitError
	if err := exec.Command(exe).Run(); errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skip("this kernel refuses io_uring")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Run("ptrace", func(t *testing.T) { checkPollingThread(t, exe, nil, "--engine", "ptrace") })
	t.Run("user", func(t *testing.T) {
		if ordinary() == nil {
			t.Skip("needs root, to run as another user")
		}
		if yama() > 0 {
			t.Skip("Yama forbids ordinary users to trace their other processes")
		}
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
		needsPerf(t)
		checkPollingThread(t, exe, nil, "--engine", "perf", "--no-kernel")
	})
}

func ofPollingThread(s *profile.Sample) bool { return strings.HasPrefix(label(s, "thread"), "iou-sqp") }

// 90 % of the thread's observed CPU time must be under [attribute.NoUserSpace].
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
	times := func(p *profile.Profile) (all, named, own int64) {
		for _, s := range p.Sample {
			switch cpu := s.Value[cpuColumn]; {
			case !ofPollingThread(s):
				own += cpu
			case slices.Contains(stackOf(s), attribute.NoUserSpace):
				all, named = all+cpu, named+cpu
			case slices.Contains(stackOf(s), attribute.NotObserved):
			default:
				all += cpu
			}
		}
		return all, named, own
	}
	r := recordUntilAs(t, u, "CPU time of both threads", func(p *profile.Profile) bool {
		all, _, own := times(p)
		return all > 1e9 && own > 1e9
	}, append(args, "-p", strconv.Itoa(cmd.Process.Pid))...)
	if all, named, _ := times(r.Profile); named*10 < all*9 {
		t.Errorf("%v: %d of %d ns of the polling thread are under %s, want 90 %%", args, named, all,
			attribute.NoUserSpace)
	}
	checkAccounting(t, r.stats)
	return r.Profile
}
