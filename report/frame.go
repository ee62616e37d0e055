package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	rec "prywalk/internal/profile"
)

// frame is what the reports tell apart on a stack.
type frame struct {
	name   string
	module string // base name of the file, empty if synthetic or unknown
	file   string // only where lines are told apart
	line   int
	// nameless: code that no function is known of; name says where it is.
	nameless bool
}

// synthetic reports whether the frame is not code but says something.
func (f *frame) synthetic() bool {
	return f.module == "" && strings.HasPrefix(f.name, "[")
}

// incomplete reports whether the frame ends a stack that could not be followed.
func (f *frame) incomplete() bool {
	return f.module == "" && strings.HasPrefix(f.name, "[incomplete")
}

// label is the frame as text, with its line where lines are told apart.
func (f *frame) label() string {
	if f.line == 0 || f.file == "" {
		return f.name
	}
	return fmt.Sprintf("%s %s:%d", f.name, filepath.Base(f.file), f.line)
}

// shown is the label in tables and trees: the functions of a file that have no names are one row there.
func (f *frame) shown() string {
	if f.nameless && f.module != "" && !strings.HasPrefix(f.module, "[") {
		return f.label() + " (unnamed)"
	}
	return f.label()
}

// stack gives the frames of a sample, innermost first. The slice is good until the
// next call.
func (d *data) stack(s *profile.Sample) []int32 {
	d.buf = d.buf[:0]
	for _, l := range s.Location {
		fs, ok := d.byLoc[l]
		if !ok {
			fs = d.location(l)
			d.byLoc[l] = fs
		}
		d.buf = append(d.buf, fs...)
	}
	if len(d.buf) == 0 {
		d.buf = append(d.buf, d.number(frame{name: "[no stack]"}))
	}
	return d.buf
}

// location gives the frames of a location, the innermost inlined call first.
func (d *data) location(l *profile.Location) []int32 {
	module := ""
	if l.Mapping != nil {
		module = d.moduleOf(l.Mapping)
	}
	var fs []int32
	for _, ln := range l.Line {
		f := frame{name: functionName(&ln), module: module}
		if f.name == "" {
			continue
		}
		f.nameless = module != "" && f.name == bracketed(module) // the recording names a mapping without a file so
		if d.opts.Lines {
			f.file, f.line = ln.Function.Filename, int(ln.Line)
		}
		fs = append(fs, d.number(f))
	}
	if len(fs) == 0 {
		fs = append(fs, d.number(d.nameless(l, module)))
	}
	return fs
}

// functionName is the name to show for a line's function, "" for one that has none: no frame is made of it.
func functionName(ln *profile.Line) string {
	if ln.Function == nil {
		return ""
	}
	return or(ln.Function.Name, ln.Function.SystemName)
}

// nameless is the frame of a location that has no function.
func (d *data) nameless(l *profile.Location, module string) frame {
	f := frame{name: bracketed(module), module: module, nameless: true}
	if d.opts.Lines {
		f.name = fmt.Sprintf("%#x %s", offset(l), f.name)
	}
	return f
}

// offset is the place in its file that an address lies at, else the address.
func offset(l *profile.Location) uint64 {
	if m := l.Mapping; m != nil && m.File != "" && l.Address >= m.Start && l.Address < m.Limit {
		return l.Address - m.Start + m.Offset
	}
	return l.Address
}

func bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + module + "]"
}

// moduleName is the last part of a file's path; names in brackets stay whole.
func moduleName(file string) string {
	if file == "" || file[0] == '[' {
		return file
	}
	return filepath.Base(file)
}

// moduleOf is the name that people know a file by. The program's own file may have another than what it was started
// by, as Debian's redis-server is a link to redis-check-rdb.
func (d *data) moduleOf(m *profile.Mapping) string {
	if d.startedAs != "" && m == d.prof.Mapping[0] {
		return d.startedAs
	}
	return moduleName(m.File)
}

// findStart finds the name that the program was started by. It is believed if there is one process, whose name begins
// with the same word as its file's.
func (d *data) findStart() {
	if len(d.prof.Mapping) == 0 {
		return
	}
	comm := ""
	for _, s := range d.prof.Sample {
		c := label(s, rec.LabelComm)
		if c == "" || comm != "" && c != comm {
			return
		}
		comm = c
	}
	if namehints.StartedAs(moduleName(d.prof.Mapping[0].File), comm) {
		d.startedAs = comm
	}
}

func (d *data) number(f frame) int32 { return numbered(&d.frames, d.index, f) }
