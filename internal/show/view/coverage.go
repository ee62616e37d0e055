// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
	rec "prywalk/internal/store/profile"
)

// highCoverage is the share of named time from which on unnamed time is not mentioned.
const highCoverage = 0.95

// minTicksToReport is the CPU time, in ticks, below which a small share is not reported.
const minTicksToReport = 5

// SymbolCoverage is the share of CPU time with a named function, and the rest by kind.
type SymbolCoverage struct {
	valueIndex    int    // of cpu, else of the chosen type
	kind          string // "CPU time", if another type is shown
	named, Total  int64
	bounded       int64 // functions known by their bounds only
	unnamed       []*unnamedFrame
	TooLittleTime bool
	small         bool // less than a hundredth of the shown type
}

type unnamedFrame struct {
	frame Frame
	value int64
}

// Coverage divides the time by innermost frames.
func (d *Data) Coverage() SymbolCoverage {
	c := SymbolCoverage{valueIndex: d.ValueIndex}
	if i, ok := d.TypeIndex(rec.TypeCPU); ok {
		c.valueIndex = i
	}
	unnamed := map[string]*unnamedFrame{}
	for _, s := range d.Profile.Sample {
		v := s.Value[c.valueIndex]
		if v <= 0 {
			continue
		}
		c.Total += v
		stack := d.Table.Stack(s)
		f := &d.Table.Frames[stack[0]]
		if f.isFunction() || d.Table.isBuiltInOfScript(stack) {
			c.named += v
			continue
		}
		if unnamedcode.IsAddressName(f.Name, f.Module) {
			c.bounded += v
		}
		key := f.nameWithoutAddress()
		if unnamed[key] == nil {
			unnamed[key] = &unnamedFrame{frame: *f}
		}
		unnamed[key].value += v
	}
	c.unnamed = slices.SortedFunc(maps.Values(unnamed), func(a, b *unnamedFrame) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.frame.Name, b.frame.Name))
	})
	cpu := d.Profile.SampleType[c.valueIndex].Type == rec.TypeCPU
	if t := d.Profile.PeriodType; t != nil && t.Unit == rec.Nanoseconds && cpu {
		c.TooLittleTime = c.Total/minTicksToReport < d.Profile.Period // no product, which might overflow
	}
	if c.valueIndex != d.ValueIndex {
		c.kind = "CPU time"
		c.small = c.Total < d.Total(d.ValueIndex)/100
	}
	return c
}

// isBuiltInOfScript reports whether a stack's innermost code is nameless and called by a script's function: the
// language's built-in functions have no names.
func (t *FrameTable) isBuiltInOfScript(stack []int32) bool {
	leaf := &t.Frames[stack[0]]
	if !leaf.Nameless || leaf.Module == "" || strings.HasPrefix(leaf.Module, "[") {
		return false
	}
	return slices.ContainsFunc(stack, func(f int32) bool { return t.Frames[f].Script && t.Frames[f].isFunction() })
}

func (f *Frame) nameWithoutAddress() string {
	if f.Nameless {
		return unnamedcode.Bracketed(f.Module)
	}
	return languages.ShownName(f.Name)
}

// Share is the part with a named function; negative without time.
func (c *SymbolCoverage) Share() float64 {
	if c.Total <= 0 {
		return -1
	}
	return float64(c.named) / float64(c.Total)
}

// ShareText is Share for a heading.
func (c *SymbolCoverage) ShareText() string {
	switch {
	case c.Negligible():
		return "almost no CPU time"
	case c.Share() < 0:
		return ""
	}
	return Percent(c.Share()) + " named"
}

// AddressOnly is the part, not in Share, of functions known by their bounds only (server+0x1600).
func (c *SymbolCoverage) AddressOnly() float64 { return float64(c.bounded) / float64(max(1, c.Total)) }

func (c *SymbolCoverage) isLow() bool { return c.Total > 0 && c.Share() < highCoverage }

// Negligible reports that the named share is low, but of hardly any time.
func (c *SymbolCoverage) Negligible() bool { return c.isLow() && c.TooLittleTime }

// UnnamedTimeText returns the kinds of time without a function, and next steps; "" if there is little.
func (d *Data) UnnamedTimeText(c *SymbolCoverage) string {
	if !c.isLow() || c.Negligible() || c.small {
		return ""
	}
	var causes []string
	shares := map[string][]string{}
	for _, m := range c.unnamed {
		if 100*m.value < c.Total {
			break
		}
		p, why := tabular.Precision{N: d.Precision.N, Total: float64(c.Total)}, unnamedCause(&m.frame)
		if shares[why] == nil {
			causes = append(causes, why)
		}
		shares[why] = append(shares[why], p.Share(m.value)+" "+m.frame.nameWithoutAddress())
	}
	var parts []string
	for _, why := range causes {
		parts = append(parts, strings.Join(shares[why], ", ")+why)
	}
	return cmp.Or(c.kind, "Time") + " without a function: " + strings.Join(parts, "; ")
}

func unnamedCause(f *Frame) string {
	switch {
	case f.Nameless && f.Module == KernelModule:
		return ": code that /proc/kallsyms does not list, or hides from all but root"
	case f.Name == languages.FreedFunction:
		return ": mostly functions that were freed soon after they had run (rarer with a spare CPU for prywalk)"
	case f.Name == languages.MovedFunction:
		return ": by the collector (rarer with a spare CPU for prywalk)"
	case f.Nameless && strings.HasPrefix(f.Module, "["), !f.Nameless && unnamedcode.IsPlaceholder(f.Name):
		return ": code without symbols (a perf map names it, if the program can write one)"
	case unnamedcode.IsAddressName(f.Name, f.Module):
		return ": functions known by address only (debug symbols name them)"
	case f.Nameless:
		return ": functions without symbols (debug symbols name them)"
	case f.Name == attribute.ExitedUnseen:
		return ": threads that started and exited between two samples (a higher -F catches more of them)"
	case f.Name == attribute.ShortLivedChildren:
		return ": processes that exited before they were sampled, or could not be opened (a higher -F samples more of them)"
	case f.Name == attribute.RanBetweenTicks:
		return ": runs without a sample, short or left out by --max-overhead or --max-pause (a higher -F or a looser limit " +
			"catches more of them)"
	case f.Name == attribute.InKernel:
		return ": time in the kernel outside of the system calls that stops show, such as page faults (root or CAP_PERFMON " +
			"shows its functions)"
	case f.Name == attribute.NotObserved:
		return ": while the host was too busy for prywalk, or it was stopped, or could not sample the thread (reasons: " +
			"report --account)"
	case f.incomplete():
		return ": stacks that could not be unwound to the end (reasons: report --account)"
	}
	return ""
}

// Notes explain functions without names, and what would name them. again is the next action, such as "record again".
func (d *Data) Notes(shown []Row, again string) []string {
	p := unnamedcode.Program{PID: d.mainPID(), Again: again, OneRow: true}
	p.Files, p.Mappings = d.mapped()
	rows := make([]unnamedcode.Row, 0, len(shown))
	for _, r := range shown {
		f := &d.Table.Frames[r.Frame]
		rows = append(rows, unnamedcode.Row{Name: f.Name, Module: f.Module, Nameless: f.Nameless,
			Large: 20*r.Total >= int64(d.Precision.Total)})
	}
	for i := range d.Table.Frames { // hidden functions show that there is a perf map
		if f := &d.Table.Frames[i]; unnamedcode.MadeAtRunTime(f.Module) && !f.Nameless {
			rows = append(rows, unnamedcode.Row{Name: f.Name, Module: f.Module})
		}
	}
	return p.Notes(rows)
}

func (sel *Selection) mapped() (files, mappings []string) {
	for _, m := range sel.Profile.Mapping {
		mappings = append(mappings, m.File)
		if !strings.HasPrefix(m.File, "[") {
			files = append(files, m.File)
		}
	}
	return files, mappings
}

func (d *Data) mainPID() int {
	times := map[int64]int64{}
	for _, s := range d.Profile.Sample {
		times[NumLabel(s, rec.LabelPID)] += s.Value[d.ValueIndex]
	}
	for pid, v := range times {
		if 10*v > 9*int64(d.Precision.Total) {
			return int(pid)
		}
	}
	return 0
}
