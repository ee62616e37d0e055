package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

// groupings are the ways to group samples.
var groupings = []string{"thread", "process", "role", "state", "wait", "lock", "module"}

// Groupings lists the ways to group samples, for [Options].By.
func Groupings() []string { return slices.Clone(groupings) }

func checkBy(by string) error {
	if by == "" || slices.Contains(groupings, by) {
		return nil
	}
	return fmt.Errorf("cannot group by %q; choose one of %s", by, strings.Join(groupings, ", "))
}

// label gives a sample's first label of that name, empty if none.
func label(s *profile.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// number gives a sample's first numeric label of that name, 0 if none.
func number(s *profile.Sample, key string) int64 {
	if v := s.NumLabel[key]; len(v) > 0 {
		return v[0]
	}
	return 0
}

// group names the group that a sample belongs to.
func (d *data) group(s *profile.Sample, by string) string {
	switch by {
	case "thread":
		return d.threadName(s)
	case "process":
		return named(label(s, rec.LabelComm), "pid", number(s, rec.LabelPID))
	case "role":
		return d.role(s)
	case "state":
		return or(label(s, rec.LabelState), "[no state]")
	case "wait":
		return d.waitGroup(s)
	case "lock":
		return d.lockGroup(s)
	case "module":
		f := d.frames[d.stack(s)[0]]
		return or(f.module, "[none]")
	}
	return ""
}

func (d *data) threadName(s *profile.Sample) string {
	tid := number(s, rec.LabelTID)
	if pid := number(s, rec.LabelPID); tid == 0 && pid != 0 { // of the process as a whole
		return or(label(s, rec.LabelThread), "[no thread]") + " " + named(label(s, rec.LabelComm), "pid", pid)
	}
	return named(or(label(s, rec.LabelThread), label(s, rec.LabelComm)), "tid", tid)
}

// named is "worker (tid 12)", with what of it is known.
func named(name, kind string, id int64) string {
	switch {
	case id == 0 && name == "":
		return "[no " + map[string]string{"tid": "thread", "pid": "process"}[kind] + "]"
	case id == 0:
		return name
	case name == "":
		return fmt.Sprintf("%s %d", kind, id)
	}
	return fmt.Sprintf("%s (%s %d)", name, kind, id)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// clocks are the kernel's three for a set of samples, in nanoseconds.
type clocks struct{ cpu, runqueue, blocked int64 }

// clocks adds up those of samples; false where the profile is not prywalk's.
func (d *data) clocks(samples []*profile.Sample) (c clocks, ok bool) {
	cpu, ok1 := d.has(rec.TypeCPU)
	queue, ok2 := d.has(rec.TypeRunQueue)
	wall, ok3 := d.has(rec.TypeWall)
	if !ok1 || !ok2 || !ok3 {
		return c, false
	}
	for _, s := range samples {
		c.cpu += s.Value[cpu]
		c.runqueue += s.Value[queue]
		c.blocked += s.Value[wall] - s.Value[cpu] - s.Value[queue]
	}
	c.blocked = max(0, c.blocked)
	return c, true
}
