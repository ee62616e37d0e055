// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"prywalk/benchmarks/markdown"
)

const sectionName = "figures"

func putTables(path, section, text string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(path, []byte(markdown.EmptySection(section)), 0o644); err != nil {
			return err
		}
	}
	return markdown.ReplaceSection(path, section, func(string) string { return text })
}

func (f *figures) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", f.head())
	for _, part := range []struct {
		title string
		text  string
	}{
		{"Agreement with perf", f.agreementText() + f.programsTable().String()},
		{"CPU time", f.cpuTable()},
		{"Totals in other programs", f.viewersText()},
		{"From the command to the first look", timings(f.Startup)},
		{"From Ctrl-C to the recording with names", timings(f.Naming)},
		{"What could not be measured", f.failures()},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s", part.title, part.text)
		}
	}
	return b.String() + "\n"
}

func (f *figures) head() string {
	m := f.Machine
	parts := []string{
		f.Date, m.CPU, fmt.Sprintf("%d processors", m.Processors), m.Kernel, m.Arch, m.Go, m.Perf,
	}
	if m.Prywalk != "" {
		parts = append(parts, "prywalk "+m.Prywalk)
	}
	return fmt.Sprintf("Measured on %s. Recordings of %g s; comparison with perf in %d pairs of slices of %g s at %d Hz.",
		strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "),
		f.Settings.Seconds, f.Settings.Pairs, f.Settings.SliceSeconds, f.Settings.Freq)
}

func (f *figures) measured() []program {
	return slices.DeleteFunc(slices.Clone(f.Programs), func(p program) bool { return p.Complete == nil })
}

func (f *figures) agreementText() string {
	v := f.Test
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d shares compared; %d differ at a family-wise error rate of %g %% (Holm). The greatest |t| is "+
		"%.2f "+
		"(%.2f would be needed, %d degrees of freedom), the greatest difference %.2f points; %d functions are "+
		"called by names that do not mean the same.\n\n",
		v.Tests, v.Differ, 100*v.ErrorRate, v.Largest, v.Needed, v.DF, 100*v.MaxDifference, v.Names)
}

func (f *figures) programsTable() *markdown.Table {
	t := markdown.NewTable("program", "samples: prywalk, perf", "functions", "differ", "greatest t: function", "prywalk",
		"perf", "t")
	for _, p := range f.measured() {
		if p.Agreement == nil || len(p.Agreement.Functions) == 0 {
			continue
		}
		all := p.Agreement.Functions
		x := slices.MaxFunc(all, func(a, b function) int { return cmp.Compare(math.Abs(a.T), math.Abs(b.T)) })
		differ := 0
		for _, x := range all {
			if x.Differs {
				differ++
			}
		}
		t.Row(p.Name, p.Agreement.samples(), fmt.Sprint(len(all)), fmt.Sprint(differ), code(x.Place), share(x.Share, x.SE),
			share(x.PerfShare, x.PerfSE), fmt.Sprintf("%+.2f", x.T))
	}
	return t
}

func (a *agreement) samples() string {
	n := fmt.Sprintf("%d, %d", a.Samples, a.PerfSamples)
	if a.PerfLost > 0 {
		n += fmt.Sprintf(" (perf lost %d)", a.PerfLost)
	}
	return n
}

func (f *figures) agreementTable() *markdown.Table {
	t := markdown.NewTable("program", "samples: prywalk, perf", "function", "prywalk", "perf", "t", "differs",
		"other names")
	for _, p := range f.measured() {
		if p.Agreement == nil {
			continue
		}
		for _, x := range p.Agreement.Functions {
			names, differs := "", "no"
			if x.Name != "" {
				names = fmt.Sprintf("%s, perf: %s", x.Name, x.PerfName)
			}
			if x.Differs {
				differs = "yes"
			}
			t.Row(p.Name, p.Agreement.samples(), x.Place, share(x.Share, x.SE), share(x.PerfShare, x.PerfSE),
				fmt.Sprintf("%+.2f", x.T), differs, names)
		}
	}
	return t
}

func (f *figures) cpuTable() string {
	t := markdown.NewTable("program", "profile", "process clocks", "utime + stime", "schedstat", "profile to clocks",
		"allowed", "within", "not observed")
	for _, p := range f.measured() {
		c := p.CPU
		t.Row(p.Name, secs(c.ProfileS), secs(c.ClockS), secs(c.TicksS), secs(c.SchedS), fmt.Sprintf("%+.3f %%", c.Off()),
			fmt.Sprintf("%.0f ms", 1e3*c.AllowedS), yes(c.OK()), percent(c.Unobserved(), 2))
	}
	return t.String()
}

func (f *figures) viewersText() string {
	programs, equal := 0, 0
	for _, p := range f.measured() {
		if p.Viewers == nil {
			continue
		}
		if programs++; p.Viewers.OK() {
			equal++
		}
	}
	if programs == 0 {
		return ""
	}
	return fmt.Sprintf("The sum of CPU time, in ns, is equal in the recording, `prywalk report`, `go tool pprof "+
		"-raw` and `-top` for %d of %d programs.\n", equal, programs)
}

func (f *figures) viewersTable() *markdown.Table {
	t := markdown.NewTable("program", "recording (ns)", "prywalk report", "go tool pprof -raw", "go tool pprof -top",
		"equal")
	for _, p := range f.measured() {
		if v := p.Viewers; v != nil {
			t.Row(p.Name, fmt.Sprint(v.Profile), fmt.Sprint(v.Report), fmt.Sprint(v.Raw), fmt.Sprint(v.Top), yes(v.OK()))
		}
	}
	return t
}

func timings(all []timing) string {
	if len(all) == 0 {
		return ""
	}
	t := markdown.NewTable("program", "n", "p50", "max", "samples at least", "stored at least", "places named")
	for _, x := range all {
		if x.Error != "" {
			t.Row(x.What, "not measured: "+x.Error, "", "", "", "", "")
			continue
		}
		t.Row(x.What, fmt.Sprint(len(x.Seconds)), millis(x.quantile(0.5)), millis(x.quantile(1)),
			number(x.Samples), number(int64(x.Intervals)), number(int64(x.Locations)))
	}
	return t.String()
}

func (f *figures) failures() string {
	var b strings.Builder
	for _, p := range f.Programs {
		b.WriteString(failure(p.Name, p.Error))
	}
	return b.String()
}

func failure(name, text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("- %s: %s\n", name, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
}

func percent(x float64, digits int) string { return fmt.Sprintf("%.*f %%", digits, 100*x) }

func interval(low, high float64) string {
	return fmt.Sprintf("%.2f to %.2f %%", 100*low, 100*high)
}

func share(p, se float64) string { return fmt.Sprintf("%.2f ± %.2f %%", 100*p, 100*se) }

func secs(s float64) string { return fmt.Sprintf("%.3f s", s) }

func millis(s float64) string { return fmt.Sprintf("%.0f ms", 1e3*s) }

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

func number(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func code(name string) string {
	const most = 70
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return "`" + strings.ReplaceAll(name, "`", "'") + "`"
}
