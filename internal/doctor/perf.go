package doctor

import (
	"errors"
	"strings"
	"time"

	"prywalk/internal/perfevents"
)

// tryFor is how long it is waited for samples, in nanoseconds of this process's time.
const tryFor = 30 * time.Millisecond

// perf: whether the kernel can sample running threads, so that they need not be stopped. Nothing is missing where it
// cannot.
func (c *checkup) perf() Finding {
	const name = "perf events"
	if !c.live {
		return Finding{}
	}
	paranoid := strings.TrimSpace(c.read("sys/kernel/perf_event_paranoid"))
	r, err := perfevents.Open(perfevents.Options{Freq: 997})
	switch {
	case errors.Is(err, perfevents.ErrDenied):
		return Finding{name, OK, "not allowed (kernel.perf_event_paranoid is " + paranoid + "): running threads are stopped for their looks; " +
			"for record --engine perf " + perfevents.Remedy, ""}
	case err != nil:
		return Finding{name, OK, "not to be had, running threads are stopped for their looks (" + err.Error() + ")", ""}
	}
	defer r.Close()
	for end := time.Now().Add(tryFor); time.Now().Before(end); { // somebody has to run
	}
	got := 0
	r.Drain(func(rec *perfevents.Record) {
		if rec.Kind == perfevents.Sampled {
			got++
		}
	})
	if got == 0 {
		return Finding{name, OK, "allowed, but no samples came: running threads are stopped for their looks", ""}
	}
	return Finding{name, OK, "work: record --engine perf stops no running thread", ""}
}
