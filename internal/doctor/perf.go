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
		return Finding{name, OK, "allowed in user space alone (kernel.perf_event_paranoid is " + paranoid +
			"): running threads are stopped for their looks, but few with --engine perf; to have all sampled " +
			perfevents.Remedy, ""}
	case errors.Is(err, perfevents.ErrDenied):
		return Finding{name, OK, "not allowed (kernel.perf_event_paranoid is " + paranoid +
			"): running threads are stopped for their looks; " +
			"to have them sampled " + perfevents.Remedy, ""}
	case errors.Is(err, perfevents.ErrSilent):
		return Finding{name, OK, "allowed, but no samples came: running threads are stopped for their looks", ""}
	case err != nil:
		return Finding{name, OK, "not to be had, running threads are stopped for their looks (" + err.Error() + ")", ""}
	}
	return Finding{name, OK, "work: no running thread is stopped, but of processes whose stacks samples do not show whole",
		""}
}
