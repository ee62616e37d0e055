// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/process"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
)

const sampled = "the kernel samples running threads, except those of Go, Python, PHP and Ruby, and those with deep " +
	"stacks, which are stopped for each sample"

// perf: without perf events ptrace is used, so that nothing is missing.
func (c *checker) perf() Finding {
	paranoid := strings.TrimSpace(c.system.read("sys/kernel/perf_event_paranoid"))
	var err error
	if c.subject.MayAsk != nil {
		err = c.subject.MayAsk()
	}
	if err == nil {
		err = perfevents.Try()
	}
	if errors.Is(err, perfevents.ErrDenied) && !c.system.self.Has(unix.CAP_PERFMON) {
		c.usefulCaps |= 1 << unix.CAP_PERFMON
	}
	switch {
	case errors.Is(err, perfevents.ErrDenied) && perfevents.TryPerThread() == nil:
		c.kernelSamples = true
		return finding(OK, "allowed for own threads in user space (kernel.perf_event_paranoid is "+paranoid+"): "+sampled+
			"; time in the kernel goes to the system calls that sleeps and a few stops show; to see the kernel's functions "+
			c.perfRemedy(), "")
	case errors.Is(err, perfevents.ErrDenied) && c.mayUsePerf():
		return finding(OK, "not allowed, although prywalk has the capability: running threads are stopped for each sample; "+
			"to let the kernel sample them "+c.perfRemedy(), "")
	case errors.Is(err, perfevents.ErrDenied):
		return finding(OK, "not allowed (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample; "+
			"to let the kernel sample them "+c.perfRemedy(), "")
	case errors.Is(err, perfevents.ErrSilent):
		return finding(OK, "allowed, but no samples came: running threads are stopped for each sample", "")
	case err != nil:
		return finding(OK, "unavailable, running threads are stopped for each sample ("+err.Error()+")", "")
	}
	c.kernelSamples = true
	return finding(OK, "allowed: "+sampled, "")
}

func (c *checker) mayUsePerf() bool {
	return c.system.self.Has(unix.CAP_PERFMON) || c.system.self.Has(unix.CAP_SYS_ADMIN)
}

// hostsUsers is the link of /proc/PID/ns/user in the first user namespace (PROC_USER_INIT_INO).
const hostsUsers = "user:[4026531837]"

// perfRemedy: the profiles of Docker 20.10 and Podman 4.3 allow perf_event_open with CAP_SYS_ADMIN, not CAP_PERFMON.
func (c *checker) perfRemedy() string {
	const profile = "a seccomp profile that allows perf_event_open (in a container: --security-opt seccomp=FILE)"
	users, _ := os.Readlink(filepath.Join(c.system.proc(), "self/ns/user"))
	switch {
	case users != "" && users != hostsUsers:
		return "run prywalk on the host: CAP_PERFMON must be in the host's user namespace, and this is another one"
	case c.mayUsePerf():
		return "give it " + profile
	case c.system.root() || !c.system.self.MayGet(1<<unix.CAP_PERFMON):
		return "start the container with " + c.flags(1<<unix.CAP_PERFMON) + " (SYS_ADMIN, which gives far more rights, " +
			"where the engine or a kernel before 5.8 does not know it), and with " + profile
	}
	return perfevents.OwnRemedy
}

// PerfRemedy states what lets the kernel sample all processors for this process.
func PerfRemedy() string {
	c := checker{system: system{dir: "/"}}
	var err error
	if c.system.self, err = process.ReadSelf(c.system.proc()); err == nil {
		if remedy := c.perfRemedy(); remedy != perfevents.OwnRemedy {
			return remedy
		}
	}
	return perfevents.Remedy
}

// engine reports whether record's default stops running threads of the target.
func (c *checker) engine() Finding {
	switch lack := target.ExpectedLack(c.opened); {
	case !c.kernelSamples:
		return finding(OK, "running threads are stopped for each sample (perf events, above)", "")
	case lack != target.LacksNothing:
		return finding(OK, "running threads are stopped for each sample: it is a "+strings.TrimPrefix(lack.Note(1), "1 "), "")
	}
	return finding(OK, "the kernel samples running threads, except those with deep stacks, which are stopped; "+
		"if samples turn out incomplete, all are", "")
}
