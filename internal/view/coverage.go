package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// wellCovered is the share of CPU time with a function above which nothing is to be said of the rest.
const wellCovered = 0.95

// fewTicks is from how many ticks' CPU time on a poor share is worth a warning: what hardly runs is hardly met.
const fewTicks = 5

// Coverage says how much of the CPU time is of a function that has a name, and what the rest is.
type Coverage struct {
	value        int // index of the type of values: cpu, or the chosen one of another tool's profile
	named, Total int64
	missing      []missing // the most first
	Slight       bool      // a few ticks' worth of CPU time is all that there is
}

// missing is time without a function, by what the table shows for it.
type missing struct {
	frame Frame
	v     int64
}

// Coverage divides the time by the innermost frames.
func (d *Data) Coverage() Coverage {
	c := Coverage{value: d.Value}
	if i, ok := d.Has(rec.TypeCPU); ok {
		c.value = i
	}
	unread := map[string]*missing{}
	for _, s := range d.Profile.Sample {
		v := s.Value[c.value]
		if v <= 0 {
			continue
		}
		c.Total += v
		f := &d.Frames[d.Stack(s)[0]]
		if !f.Synthetic() && !f.Nameless {
			c.named += v
			continue
		}
		key := f.kind()
		if unread[key] == nil {
			unread[key] = &missing{frame: *f}
		}
		unread[key].v += v
	}
	for _, m := range unread {
		c.missing = append(c.missing, *m)
	}
	slices.SortFunc(c.missing, func(a, b missing) int {
		return cmp.Or(cmp.Compare(b.v, a.v), cmp.Compare(a.frame.Name, b.frame.Name))
	})
	cpu := d.Profile.SampleType[c.value].Type == rec.TypeCPU
	if t := d.Profile.PeriodType; t != nil && t.Unit == "nanoseconds" && cpu {
		c.Slight = c.Total/fewTicks < d.Profile.Period // any period may be claimed
	}
	return c
}

// kind is the name of a frame without an address.
func (f *Frame) kind() string {
	if f.Nameless {
		return namehints.Bracketed(f.Module)
	}
	return f.Name
}

// Share is the part that has a function, negative where there is no time.
func (c *Coverage) Share() float64 {
	if c.Total <= 0 {
		return -1
	}
	return float64(c.named) / float64(c.Total)
}

// poor reports whether much has no function.
func (c *Coverage) poor() bool { return c.Total > 0 && c.Share() < wellCovered }

// Idle reports whether a poor share is one of next to nothing.
func (c *Coverage) Idle() bool { return c.poor() && c.Slight }

// Covered is the part of the first line that tells the share, "" if there is none.
func (d *Data) Covered(c *Coverage) string {
	switch {
	case c.Share() < 0:
		return ""
	case c.Idle():
		return "hardly any CPU time"
	}
	what := "the CPU time"
	if name := d.Profile.SampleType[c.value].Type; name != rec.TypeCPU {
		what = name
	}
	only := ""
	if c.poor() {
		only = "only "
	}
	return fmt.Sprintf("%s%s of %s has a function", only, PercentComplete(c.Share()), what)
}

// Causes says what the time without a function is, and what to do. "" where enough of it has one, or there is
// hardly any. Below says where more of code without names is told.
func (d *Data) Causes(c *Coverage, below string) string {
	if !c.poor() || c.Idle() {
		return ""
	}
	var parts []string
	for _, m := range c.missing {
		if 100*m.v < c.Total {
			break
		}
		p := tabular.Precision{N: d.Precision.N, Total: float64(c.Total)}
		parts = append(parts, p.Share(m.v)+" "+m.frame.kind()+cause(&m.frame, below))
	}
	return "The rest: " + strings.Join(parts, "; ")
}

// cause says of time without a function why, and what to do.
func cause(f *Frame, below string) string {
	switch {
	case f.Nameless && strings.HasPrefix(f.Module, "["):
		return ", code without names" + below
	case f.Nameless:
		return ", functions without names" + below
	case f.Name == "[exited unseen]":
		return ", threads that came and went between two looks (a higher -F sees more of them)"
	case f.Name == "[short-lived children]":
		return ", processes that came and went before they were found"
	case f.Name == "[ran between ticks]":
		return ", short runs between two looks (a higher -F sees more of them)"
	case f.Name == "[not observed]":
		return ", while prywalk was stopped or had to wait"
	case f.incomplete():
		return ", stacks that could not be read"
	}
	return ""
}

// Notes say what the functions without names are, and what gives names: once, below the table.
func (d *Data) Notes(shown []Row) (notes []string) {
	files, mappings := d.mapped()
	hint, known := namehints.Of(files)
	interpreted, told, gone := false, false, false
	var made, libraries []string
	for _, r := range shown {
		f := &d.Frames[r.Frame]
		large := 20*r.Total >= int64(d.Precision.Total)
		switch {
		case f.Nameless && (f.Module == "" || f.Module == "[anon]" || strings.HasPrefix(f.Module, "[heap")):
			if name := namehints.Bracketed(f.Module); large && !slices.Contains(made, name) {
				made = append(made, name)
			}
		case f.Nameless && !strings.HasPrefix(f.Module, "[") && large && !slices.Contains(libraries, f.Module):
			libraries = append(libraries, f.Module)
		case f.Name == "[freed]":
			gone = gone || large
		case f.Module == "[anon]": // a perf map named it
			told = told || large
		case hint.Interprets(f.Name):
			interpreted = interpreted || large
		}
	}
	switch {
	case hint.Named(mappings):
	case len(made) > 0:
		notes = append(notes, fmt.Sprintf("%s: %s, without names. For names: %s.", strings.Join(made, ", "), hint.Code,
			hint.Remedy(d.mainPID())))
	case interpreted && known && !told:
		notes = append(notes, fmt.Sprintf("%s: %s, have no names here. For names: %s.", hint.Runtime, hint.Code,
			hint.Remedy(d.mainPID())))
	}
	if gone {
		notes = append(notes, freedNote)
	}
	return append(notes, libraryNotes(libraries, files)...)
}

// freedNote says what the functions are that were freed before they were named.
const freedNote = "[freed]: functions that were gone before they could be named. The program drops code that it " +
	"has run, or prywalk had to wait for a processor."

// libraryNotes say what gives names to files without: once for each way.
func libraryNotes(libraries, files []string) (notes []string) {
	var remedies []string
	of := map[string][]string{}
	for _, l := range libraries {
		path := l
		if at := slices.IndexFunc(files, func(f string) bool { return moduleName(f) == l }); at >= 0 {
			path = files[at]
		}
		remedy := namehints.LibraryRemedy(path)
		if of[remedy] == nil {
			remedies = append(remedies, remedy)
		}
		of[remedy] = append(of[remedy], l)
	}
	for _, r := range remedies {
		notes = append(notes,
			fmt.Sprintf("%s (unnamed): all functions of that file that have no name, together. For names: %s.",
				"["+strings.Join(of[r], "], [")+"]", r))
	}
	return notes
}

// mapped lists the paths of the files in the profile, and the names of all mappings.
func (d *Data) mapped() (files, mappings []string) {
	for _, m := range d.Profile.Mapping {
		mappings = append(mappings, m.File)
		if !strings.HasPrefix(m.File, "[") {
			files = append(files, m.File)
		}
	}
	return files, mappings
}

// mainPID is the number of the process that has nearly all of the time, 0 if there is none.
func (d *Data) mainPID() int {
	times := map[int64]int64{}
	for _, s := range d.Profile.Sample {
		times[Number(s, rec.LabelPID)] += s.Value[d.Value]
	}
	for pid, v := range times {
		if 10*v > 9*int64(d.Precision.Total) {
			return int(pid)
		}
	}
	return 0
}
