package report

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

// coverage says how much of the CPU time is of a function that has a name, and what the rest is.
type coverage struct {
	value        int // index of the type of values: cpu, or the chosen one of another tool's profile
	named, total int64
	missing      []missing // the most first
	slight       bool      // a few ticks' worth of CPU time is all that there is
}

// missing is time without a function, by what the table shows for it.
type missing struct {
	frame frame
	v     int64
}

// coverage divides the time by the innermost frames.
func (d *data) coverage() coverage {
	c := coverage{value: d.value}
	if i, ok := d.has(rec.TypeCPU); ok {
		c.value = i
	}
	unread := map[string]*missing{}
	for _, s := range d.prof.Sample {
		v := s.Value[c.value]
		if v <= 0 {
			continue
		}
		c.total += v
		f := &d.frames[d.stack(s)[0]]
		if !f.synthetic() && !f.nameless {
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
		return cmp.Or(cmp.Compare(b.v, a.v), cmp.Compare(a.frame.name, b.frame.name))
	})
	if t := d.prof.PeriodType; t != nil && t.Unit == "nanoseconds" && d.prof.SampleType[c.value].Type == rec.TypeCPU {
		c.slight = c.total/fewTicks < d.prof.Period // any period may be claimed
	}
	return c
}

// kind is the name of a frame without an address.
func (f *frame) kind() string {
	if f.nameless {
		return bracketed(f.module)
	}
	return f.name
}

// share is the part that has a function, negative where there is no time.
func (c *coverage) share() float64 {
	if c.total <= 0 {
		return -1
	}
	return float64(c.named) / float64(c.total)
}

// poor reports whether much has no function.
func (c *coverage) poor() bool { return c.total > 0 && c.share() < wellCovered }

// idle reports whether a poor share is one of next to nothing.
func (c *coverage) idle() bool { return c.poor() && c.slight }

// covered is the part of the first line that tells the share, "" if there is none.
func (d *data) covered(c *coverage) string {
	switch {
	case c.share() < 0:
		return ""
	case c.idle():
		return "hardly any CPU time"
	}
	what := "the CPU time"
	if name := d.prof.SampleType[c.value].Type; name != rec.TypeCPU {
		what = name
	}
	only := ""
	if c.poor() {
		only = "only "
	}
	return fmt.Sprintf("%s%s of %s has a function", only, percentComplete(c.share()), what)
}

// causes says what the time without a function is, and what to do. "" where enough of it has one, or there is
// hardly any. Below says where more of code without names is told.
func (d *data) causes(c *coverage, below string) string {
	if !c.poor() || c.idle() {
		return ""
	}
	var parts []string
	for _, m := range c.missing {
		if 100*m.v < c.total {
			break
		}
		p := tabular.Precision{N: d.prec.N, Total: float64(c.total)}
		parts = append(parts, p.Share(m.v)+" "+m.frame.kind()+cause(&m.frame, below))
	}
	return "The rest: " + strings.Join(parts, "; ")
}

// cause says of time without a function why, and what to do.
func cause(f *frame, below string) string {
	switch {
	case f.nameless && strings.HasPrefix(f.module, "["):
		return ", code without names" + below
	case f.nameless:
		return ", functions without names" + below
	case f.name == "[exited unseen]":
		return ", threads that came and went between two looks (a higher -F sees more of them)"
	case f.name == "[short-lived children]":
		return ", processes that came and went before they were found"
	case f.name == "[ran between ticks]":
		return ", short runs between two looks (a higher -F sees more of them)"
	case f.name == "[not observed]":
		return ", while prywalk was stopped or had to wait"
	case f.incomplete():
		return ", stacks that could not be read"
	}
	return ""
}

// notes say what the functions without names are, and what gives names: once, below the table.
func (d *data) notes(shown []row) (notes []string) {
	files, mappings := d.mapped()
	hint, known := namehints.Of(files)
	made, interpreted, told := false, false, false
	var libraries []string
	for _, r := range shown {
		f := &d.frames[r.frame]
		large := 20*r.total >= int64(d.prec.Total)
		switch {
		case f.nameless && (f.module == "" || f.module == "[anon]" || strings.HasPrefix(f.module, "[heap")):
			made = made || large
		case f.nameless && !strings.HasPrefix(f.module, "[") && large && !slices.Contains(libraries, f.module):
			libraries = append(libraries, f.module)
		case f.module == "[anon]": // a perf map named it
			told = told || large
		case hint.Interprets(f.name):
			interpreted = interpreted || large
		}
	}
	switch {
	case hint.Named(mappings):
	case made:
		notes = append(notes, fmt.Sprintf("[anon]: %s, without names. For names: %s.", hint.Code, hint.Remedy(d.mainPID())))
	case interpreted && known && !told:
		notes = append(notes, fmt.Sprintf("%s: %s, have no names here. For names: %s.", hint.Runtime, hint.Code,
			hint.Remedy(d.mainPID())))
	}
	if len(libraries) > 0 {
		notes = append(notes,
			fmt.Sprintf("%s (unnamed): all functions of that file that have no name, together. For names: %s.",
				"["+strings.Join(libraries, "], [")+"]", namehints.LibraryRemedy))
	}
	return notes
}

// mapped lists the paths of the files in the profile, and the names of all mappings.
func (d *data) mapped() (files, mappings []string) {
	for _, m := range d.prof.Mapping {
		mappings = append(mappings, m.File)
		if !strings.HasPrefix(m.File, "[") {
			files = append(files, m.File)
		}
	}
	return files, mappings
}

// mainPID is the number of the process that has nearly all of the time, 0 if there is none.
func (d *data) mainPID() int {
	times := map[int64]int64{}
	for _, s := range d.prof.Sample {
		times[number(s, rec.LabelPID)] += s.Value[d.value]
	}
	for pid, v := range times {
		if 10*v > 9*int64(d.prec.Total) {
			return int(pid)
		}
	}
	return 0
}
