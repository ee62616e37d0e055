// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
)

const sampled = "the kernel samples running threads, except those of Go, Python, PHP and Ruby, and those with deep " +
	"stacks, which are stopped for each sample"

// perf: without perf events ptrace is used, so that nothing is missing.
func (c *checker) perf() Finding {
	paranoid := strings.TrimSpace(c.read("sys/kernel/perf_event_paranoid"))
	var err error
	if c.MayAsk != nil {
		err = c.MayAsk()
	}
	if err == nil {
		err = perfevents.Try()
	}
	if errors.Is(err, perfevents.ErrDenied) && !c.self.Has(unix.CAP_PERFMON) {
		c.usefulCaps |= 1 << unix.CAP_PERFMON
	}
	switch {
	case errors.Is(err, perfevents.ErrDenied) && perfevents.TryPerThread() == nil:
		c.kernelSamples = true
		return finding(OK, "allowed for own threads in user space (kernel.perf_event_paranoid is "+paranoid+"): "+sampled+
			"; time in the kernel goes to the system calls that sleeps and a few stops show; to see the kernel's functions "+
			perfevents.OwnRemedy, "")
	case errors.Is(err, perfevents.ErrDenied):
		return finding(OK, "not allowed (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample; "+
			"to let the kernel sample them "+perfevents.OwnRemedy, "")

	case errors.Is(err, perfevents.ErrSilent):
		return finding(OK, "allowed, but no samples came: running threads are stopped for each sample", "")
	case err != nil:
		return finding(OK, "unavailable, running threads are stopped for each sample ("+err.Error()+")", "")
	}
	c.kernelSamples = true
	return finding(OK, "allowed: "+sampled, "")
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
