// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"strings"

	"prywalk/internal/perfevents"
)

// perf: whether the kernel can sample running threads, so that they need not be stopped. Nothing is missing where it
// cannot.
func (c *checkup) perf() Finding {
	const name = "perf events"
	if !c.live {
		return Finding{}
	}
	paranoid := strings.TrimSpace(c.read("sys/kernel/perf_event_paranoid"))
	var err error
	if c.MayAsk != nil {
		err = c.MayAsk()
	}
	if err == nil {
		err = perfevents.Try()
	}
	switch {
	case errors.Is(err, perfevents.ErrDenied) && perfevents.TryOwn() == nil:
		return finding(name, OK, "allowed for user space only (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample, fewer with --engine perf; to sample all "+
			perfevents.Remedy, "")

	case errors.Is(err, perfevents.ErrDenied):
		return finding(name, OK, "not allowed (kernel.perf_event_paranoid is "+paranoid+
			"): running threads are stopped for each sample; "+
			"to let the kernel sample them "+perfevents.Remedy, "")

	case errors.Is(err, perfevents.ErrSilent):
		return finding(name, OK, "allowed, but no samples came: running threads are stopped for each sample", "")
	case err != nil:
		return finding(name, OK, "unavailable, running threads are stopped for each sample ("+err.Error()+")", "")
	}
	return finding(name, OK, "work: running threads are not stopped, except where stacks do not fit into samples",
		"")
}
