// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

// ErrNoTime reports --from or --to for a profile without time stamps.
var ErrNoTime = errors.New("the profile has no time stamps")

func (d *Data) filter() error {
	before := len(d.Profile.Sample)
	if err := d.clipToWindow(); err != nil {
		return err
	}
	d.waiting.parts = d.Profile.Sample
	o := &d.Options
	for _, by := range []struct{ group, expr string }{{"thread", o.Thread}, {"process", o.Process}, {"state", o.State},
		{"wait", o.Wait}} {
		re, err := Compile(by.group, by.expr)
		if err != nil {
			return err
		}
		if re != nil {
			d.keep("--"+by.group, func(s *profile.Sample) bool { return re.MatchString(d.groupName(s, by.group)) })
		}
	}
	if err := d.filterByName(); err != nil {
		return err
	}
	d.Dropped = before - len(d.Profile.Sample)
	if before > 0 && len(d.Profile.Sample) == 0 {
		return d.nothingLeft()
	}
	return nil
}

// TimeFilter is the one of [Selection.Filters] that leaves out time only.
const TimeFilter = "--from and --to"

// States returns the states of samples.
func States() []string { return []string{"running", "sleeping", "disk", "stopped"} }

func (sel *Selection) keep(flag string, test func(*profile.Sample) bool) {
	sel.Filters = append(sel.Filters, flag)
	fails := func(s *profile.Sample) bool { return !test(s) }
	sel.Profile.Sample = slices.DeleteFunc(slices.Clone(sel.Profile.Sample), fails)
}

func (sel *Selection) filterByName() error {
	var by [2]*regexp.Regexp
	for i, o := range [2][2]string{{"focus", sel.Options.Focus}, {"ignore", sel.Options.Ignore}} {
		re, err := Compile(o[0], o[1])
		if err != nil {
			return err
		}
		if by[i] = re; re != nil {
			sel.Filters = append(sel.Filters, "--"+o[0])
		}
	}
	sel.Profile.FilterSamplesByName(by[0], by[1], nil, nil)
	return nil
}

func (sel *Selection) nothingLeft() error {
	o := &sel.Options
	values := map[string]string{"--thread": o.Thread, "--process": o.Process, "--state": o.State, "--wait": o.Wait,
		"--focus": o.Focus, "--ignore": o.Ignore}
	var flags []string
	for _, flag := range sel.Filters {
		if values[flag] != "" {
			flag += fmt.Sprintf(" %q", values[flag])
		}
		flags = append(flags, flag)
	}
	return fmt.Errorf("no samples left by %s; leave that out to see all", strings.Join(flags, " and "))
}

// Compile compiles a flag's regular expression; nil for "".
func Compile(what, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		why := "it cannot be parsed"
		var wrong *syntax.Error
		if errors.As(err, &wrong) {
			why = wrong.Code.String()
		}
		return nil, fmt.Errorf("--%s %q is %w: %s", what, expr, ErrExpr, why)
	}
	return re, nil
}

func (sel *Selection) clipToWindow() error {
	if sel.Options.From <= 0 && sel.Options.To <= 0 {
		return nil
	}
	wall, ok := sel.TypeIndex(rec.TypeWall)
	if !ok || sel.Profile.TimeNanos == 0 || !slices.ContainsFunc(sel.Profile.Sample,
		func(s *profile.Sample) bool { return NumLabel(s, rec.LabelEnd) != 0 }) {
		return fmt.Errorf("%w; --from and --to need a recording of prywalk without --aggregate", ErrNoTime)
	}
	begin := sel.Profile.TimeNanos + int64(sel.Options.From)
	end := sel.Profile.TimeNanos + sel.Profile.DurationNanos
	if to := sel.Profile.TimeNanos + int64(sel.Options.To); sel.Options.To > 0 && to < end {
		end = to
	}
	if begin >= end {
		return fmt.Errorf("no samples left: the recording is %s long, and --from is %s",
			tabular.Nanos(sel.Profile.DurationNanos), sel.Options.From)
	}
	sel.Filters = append(sel.Filters, TimeFilter)
	clocks, isRecording := ClocksOf(sel.Profile)
	blocked, hasBlocked := sel.TypeIndex(TypeBlocked)
	var kept []*profile.Sample
	for _, s := range sel.Profile.Sample {
		if c := clip(s, s.Value[wall], begin, end); c != nil {
			if slept := clocks.Blocked(s); isRecording && c != s && slept >= 0 { // the clocks of a part add up as well
				if slept == 0 {
					c.Value[clocks.RunQueue] = c.Value[wall] - c.Value[clocks.CPU]
				}
				if hasBlocked {
					c.Value[blocked] = clocks.Blocked(c)
				}
			}
			kept = append(kept, c)
		}
	}
	sel.Profile.Sample = kept
	sel.Profile.TimeNanos, sel.Profile.DurationNanos = begin, end-begin
	return nil
}

// clip returns the part of a sample between two times, or nil if there is none. Adjacent parts add up to the whole.
func clip(s *profile.Sample, wall, begin, end int64) *profile.Sample {
	last := NumLabel(s, rec.LabelEnd)
	first := last - wall
	if wall == 0 { // a moment belongs to the window that it ends
		if last > begin && last <= end {
			return s
		}
		return nil
	}
	if first >= begin && last <= end {
		return s
	}
	from, to := max(first, begin), min(last, end)
	if from >= to {
		return nil
	}
	c := *s
	c.Value = make([]int64, len(s.Value))
	for i, v := range s.Value {
		c.Value[i] = Portion(v, to-first, wall) - Portion(v, from-first, wall)
	}
	if !slices.ContainsFunc(c.Value, func(v int64) bool { return v != 0 }) {
		return nil
	}
	c.NumLabel = maps.Clone(s.NumLabel)
	c.NumLabel[rec.LabelEnd] = []int64{to}
	return &c
}

// Portion returns v × part ÷ whole, at most v, for any v of a file.
func Portion(v, part, whole int64) int64 {
	if whole <= 0 || part >= whole {
		return v
	}
	return v/whole*part + int64(float64(v%whole)*(float64(part)/float64(whole)))
}

// Filter returns the selected samples as a profile; p is unchanged.
func Filter(p *profile.Profile, o Options) (*profile.Profile, error) {
	d, err := New(p, o)
	if err != nil {
		return nil, err
	}
	d.Memory.Close()
	return d.Profile, nil
}

// hideInterpreter removes interpreter frames where there are others; not with --native.
func (sel *Selection) hideInterpreter() {
	if sel.Options.Native {
		return
	}
	hidden := map[*profile.Location]bool{}
	for _, l := range sel.Profile.Location {
		if onlyInterprets(l) {
			hidden[l] = true
		}
	}
	if len(hidden) == 0 {
		return
	}
	samples := make([]*profile.Sample, len(sel.Profile.Sample))
	folded := map[**profile.Location][]*profile.Location{} // samples share stacks (profile.Read)
	for i, s := range sel.Profile.Sample {
		samples[i] = s
		if len(s.Location) == 0 {
			continue
		}
		rest, ok := folded[&s.Location[0]]
		if !ok {
			rest = slices.DeleteFunc(slices.Clone(s.Location), func(l *profile.Location) bool { return hidden[l] })
			if len(rest) == 0 {
				rest = s.Location
			}
			folded[&s.Location[0]] = rest
		}
		if len(rest) < len(s.Location) {
			c := *s
			c.Location = rest
			samples[i] = &c
		}
	}
	sel.Profile.Sample = samples
}

// onlyInterprets reports a location of the interpreter, which neither collects garbage nor compiles.
func onlyInterprets(l *profile.Location) bool {
	return len(l.Line) > 0 && !slices.ContainsFunc(l.Line, func(ln profile.Line) bool {
		return ln.Function == nil || rec.FrameType(ln.Function.Name, ln.Function.SystemName) != rec.Machinery ||
			l.Mapping != nil && languages.Collector(ln.Function.Name, filepath.Base(l.Mapping.File)) != ""
	})
}
