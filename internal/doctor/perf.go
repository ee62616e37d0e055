// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/perfevents"
)

// perf: threads that the kernel samples need no stop. Without it ptrace is used: nothing is missing.
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
		return finding(OK, "allowed for user space only (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample, fewer with --engine perf; to sample all "+
			perfevents.Remedy, "")

	case errors.Is(err, perfevents.ErrDenied):
		return finding(OK, "not allowed (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample; "+
			"to let the kernel sample them "+perfevents.Remedy, "")

	case errors.Is(err, perfevents.ErrSilent):
		return finding(OK, "allowed, but no samples came: running threads are stopped for each sample", "")
	case err != nil:
		return finding(OK, "unavailable, running threads are stopped for each sample ("+err.Error()+")", "")
	}
	return finding(OK,
		"allowed: the kernel samples running threads; they are stopped only where stacks do not fit into samples", "")
}
