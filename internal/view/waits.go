package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// waitGroup names the group of a sample by what it waits for: the call, and which lock, or what kind of descriptor.
func (d *Data) waitGroup(s *profile.Sample) string {
	wait := Label(s, rec.LabelWait)
	if wait == "" {
		return namehints.Bracketed(cmp.Or(Label(s, rec.LabelState), "no state"))
	}
	name := wait
	if what := Label(s, rec.LabelWaitsFor); what != "" {
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
func (d *Data) lockGroup(s *profile.Sample) string {
	if what := Label(s, rec.LabelWaitsFor); what != "" && IsLock(s) {
		return what
	}
	return "[no lock]"
}

// IsLock reports whether a sample waits for a lock.
func IsLock(s *profile.Sample) bool { return KindOf(s).IsLock() }

// KindOf is the kind of what a sample waits for.
func KindOf(s *profile.Sample) waits.Kind {
	kind, _, _ := strings.Cut(Label(s, rec.LabelWaitsFor), " ")
	return waits.Kind(kind)
}

// OwnerOf gives the thread that held the lock which a sample waits for: 0 is not known, rec.Nobody is nobody.
func OwnerOf(s *profile.Sample) int64 {
	if Label(s, rec.LabelOwner) == rec.OwnerNobody {
		return rec.Nobody
	}
	return max(0, Number(s, rec.LabelOwner))
}

// idle gives the rule by which a sample's wait is idleness, "" if it is none or the rules are off.
func (d *Data) idle(s *profile.Sample) string {
	wait := Label(s, rec.LabelWait)
	if d.Options.NoIdle || wait == "" {
		return ""
	}
	stack := d.Stack(s)
	return waits.Idle(wait, KindOf(s), func(i int) string {
		if i < len(stack) {
			return d.Frames[stack[i]].Name
		}
		return ""
	})
}

// blockedTotals tells the total of blocked, and how much of it is idleness, where samples are grouped by waits.
func (d *Data) blockedTotals() []string {
	if _, ok := d.Has(TypeBlocked); ok || !d.waits() {
		return nil
	}
	c, ok := d.Clocks(d.Profile.Sample)
	if !ok {
		return nil
	}
	text := "blocked " + tabular.Nanos(c.Blocked)
	var idle []*profile.Sample
	var rules []string
	for _, s := range d.Profile.Sample {
		if rule := d.idle(s); rule != "" {
			idle = append(idle, s)
			if !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	if len(idle) > 0 {
		slices.Sort(rules)
		c, _ := d.Clocks(idle)
		text += fmt.Sprintf(" (idle by the rules %s: %s)", strings.Join(rules, ", "), tabular.Nanos(c.Blocked))
	}
	return []string{text}
}
