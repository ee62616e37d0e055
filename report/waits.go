package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// waitGroup names the group of a sample by what it waits for: the call, and which lock, or what kind of descriptor.
func (d *data) waitGroup(s *profile.Sample) string {
	wait := label(s, rec.LabelWait)
	if wait == "" {
		return bracketed(or(label(s, rec.LabelState), "no state"))
	}
	name := wait
	if what := label(s, rec.LabelWaitsFor); what != "" {
		if kind, _, ok := strings.Cut(what, ":["); ok || strings.HasPrefix(what, "/") { // not each socket by itself
			if what = kind; strings.HasPrefix(what, "/") {
				what = "file"
			}
		}
		name += ": " + what
	}
	if rule := d.idle(s); rule != "" {
		name += " [idle: " + rule + "]"
	}
	return name
}

// lockGroup names the lock that a sample waits for.
func (d *data) lockGroup(s *profile.Sample) string {
	if what := label(s, rec.LabelWaitsFor); what != "" && isLock(s) {
		return what
	}
	return "[no lock]"
}

// isLock reports whether a sample waits for a lock.
func isLock(s *profile.Sample) bool { return kindOf(s).IsLock() }

// kindOf is the kind of what a sample waits for.
func kindOf(s *profile.Sample) waits.Kind {
	kind, _, _ := strings.Cut(label(s, rec.LabelWaitsFor), " ")
	return waits.Kind(kind)
}

// ownerOf gives the thread that held the lock which a sample waits for: 0 is not known, rec.Nobody is nobody.
func ownerOf(s *profile.Sample) int64 {
	if label(s, rec.LabelOwner) == rec.OwnerNobody {
		return rec.Nobody
	}
	return max(0, number(s, rec.LabelOwner))
}

// idle gives the rule by which a sample's wait is idleness, "" if it is none or the rules are off.
func (d *data) idle(s *profile.Sample) string {
	wait := label(s, rec.LabelWait)
	if d.opts.NoIdle || wait == "" {
		return ""
	}
	stack := d.stack(s)
	return waits.Idle(wait, kindOf(s), func(i int) string {
		if i < len(stack) {
			return d.frames[stack[i]].name
		}
		return ""
	})
}

// blockedTotals tells the total of blocked, and how much of it is idleness, where samples are grouped by waits.
func (d *data) blockedTotals() []string {
	if _, ok := d.has(typeBlocked); ok || !d.opts.waits() {
		return nil
	}
	c, ok := d.clocks(d.prof.Sample)
	if !ok {
		return nil
	}
	text := "blocked " + tabular.Nanos(c.blocked)
	var idle []*profile.Sample
	var rules []string
	for _, s := range d.prof.Sample {
		if rule := d.idle(s); rule != "" {
			idle = append(idle, s)
			if !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	if len(idle) > 0 {
		slices.Sort(rules)
		c, _ := d.clocks(idle)
		text += fmt.Sprintf(" (idle by the rules %s: %s)", strings.Join(rules, ", "), tabular.Nanos(c.blocked))
	}
	return []string{text}
}
