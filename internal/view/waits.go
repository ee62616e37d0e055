// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// runtimeWaits is the group of the threads of run-time systems that wait for work.
const runtimeWaits = "threads of the run-time system [idle: " + waits.IdleRuntime + "]"

// waitGroup names the group of a sample by what it waits for: the call, and which lock, which peer of a socket, or what
// kind of descriptor. Conditions, semaphores and the like that have no name are told apart by the application's
// function that waits: each waiter may have one of its own.
func (d *Data) waitGroup(s *profile.Sample) string {
	wait := Label(s, rec.LabelWait)
	if wait == "" {
		return namehints.Bracketed(cmp.Or(Label(s, rec.LabelState), "no state"))
	}
	rule := d.idle(s)
	if rule == waits.IdleRuntime {
		return runtimeWaits
	}
	name := wait
	if what := Label(s, rec.LabelWaitsFor); what != "" {
		name += ": " + d.cause(s, what)
	}
	if rule != "" {
		name += " [idle: " + rule + "]"
	}
	return name
}

// cause names what a sample waits for, in the same words for all that wait for the same cause.
func (d *Data) cause(s *profile.Sample, what string) string {
	kind, _, ok := strings.Cut(what, ":[")
	_, peer, hasPeer := strings.Cut(what, "] ")
	switch {
	case ok && kind == "socket" && hasPeer:
		return peer
	case ok: // not each socket by itself
		return kind
	case strings.HasPrefix(what, "/"):
		return "file"
	}
	if kind, address, _ := strings.Cut(what, " "); strings.HasPrefix(address, "0x") && !waits.Kind(kind).HasOwner() {
		if at := d.Waiter(s); at != "" {
			return kind + " in " + at
		}
		return kind
	}
	return what
}

// Waiter gives the function of a sample that stands for its wait ([waits.Waiter]), "" if there is no stack.
func (d *Data) Waiter(s *profile.Sample) string {
	if i := d.application(s); i >= 0 {
		return d.waitStack(s)[i].Function
	}
	return ""
}

// application gives the place among [Data.Stack] of the function that stands for a wait; −1: there is no stack.
func (d *Data) application(s *profile.Sample) int {
	if len(s.Location) == 0 {
		return -1
	}
	i, known := d.waiters[&s.Location[0]]
	if !known {
		stack := d.waitStack(s)
		i = waits.Waiter(func(i int) (waits.Frame, bool) {
			if i < len(stack) {
				return stack[i], true
			}
			return waits.Frame{}, false
		})
		d.waiters[&s.Location[0]] = i
	}
	return i
}

// Commonest gives the stack that most of the value of some samples has, from the innermost function that is the
// application's on, and how much it has of it. of is how many stacks there are.
func (d *Data) Commonest(samples []*profile.Sample) (stack []int32, value int64, of int) {
	type sum struct {
		first *profile.Sample
		value int64
	}
	var order []string
	sums := map[string]*sum{}
	for _, s := range samples {
		var key []byte
		for _, f := range d.fromApplication(s) {
			key = binary.LittleEndian.AppendUint32(key, uint32(f))
		}
		k := sums[string(key)]
		if k == nil {
			k = &sum{first: s}
			sums[string(key)], order = k, append(order, string(key))
		}
		k.value += s.Value[d.Value]
	}
	var best *sum
	for _, key := range order {
		if k := sums[key]; best == nil || k.value > best.value {
			best = k
		}
	}
	if best == nil {
		return nil, 0, 0
	}
	return slices.Clone(d.fromApplication(best.first)), best.value, len(sums)
}

// fromApplication is [Data.Stack] without what is further in than the application's functions.
func (d *Data) fromApplication(s *profile.Sample) []int32 {
	stack := d.Stack(s)
	if i := d.application(s); i > 0 && i < len(stack) {
		return stack[i:]
	}
	return stack
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
	k := idleKey{wait, KindOf(s), nil}
	if len(s.Location) > 0 {
		k.stack = &s.Location[0]
	}
	rule, known := d.idleness[k]
	if !known {
		stack := d.waitStack(s)
		rule = waits.Idle(wait, k.kind, func(i int) (waits.Frame, bool) {
			if i < len(stack) {
				return stack[i], true
			}
			return waits.Frame{}, false
		})
		d.idleness[k] = rule
	}
	return rule
}

// idleKey is what a rule of idleness decides by: samples share their stacks.
type idleKey struct {
	wait  string
	kind  waits.Kind
	stack **profile.Location
}

// waitStack gives the functions of a sample, the innermost first, one for each frame of [Data.Stack].
func (d *Data) waitStack(s *profile.Sample) (out []waits.Frame) {
	for _, l := range s.Location {
		module := ""
		if l.Mapping != nil {
			module = l.Mapping.File
		}
		before := len(out)
		for i := range l.Line {
			if name := functionName(&l.Line[i]); name != "" {
				out = append(out, waits.Frame{Function: name, Module: module, File: l.Line[i].Function.Filename})
			}
		}
		if len(out) == before {
			out = append(out, waits.Frame{Module: module})
		}
	}
	return out
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

// WaitName names what a sample waits for, as the groups by wait are named.
func (d *Data) WaitName(s *profile.Sample) string { return d.group(s, "wait") }
