// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/namehints"
	"prywalk/internal/printable"
	"prywalk/internal/tabular"
)

// Frame is what the reports tell apart on a stack.
type Frame struct {
	Name   string
	Module string // base name of the file, of managed code the package; empty if synthetic or unknown
	File   string // only where lines are told apart, or many files have a function of that name
	Line   int
	// Script: a named function of a script, or of code that a run-time system compiled.
	Script bool
	// Nameless: code that no function is known of; name says where it is.
	Nameless bool
}

// Synthetic reports whether the frame is not code but says something.
func (f *Frame) Synthetic() bool {
	return f.Module == "" && strings.HasPrefix(f.Name, "[")
}

// incomplete reports whether the frame ends a stack that could not be followed.
func (f *Frame) incomplete() bool {
	_, ok := namehints.IncompleteReason(f.Name)
	return ok && f.Module == ""
}

// Label is the frame as text, with its line where lines are told apart, and with its file where many files have a
// function of that name.
func (f *Frame) Label() string { return f.label(func(s string) string { return s }) }

// label is the label with its names as shorten gives them.
func (f *Frame) label(shorten func(string) string) string {
	name := shorten(f.Name)
	switch {
	case f.File == "":
		return name
	case f.Line == 0:
		return name + " (" + shorten(printable.SourceFile(f.File)) + ")"
	}
	return fmt.Sprintf("%s %s:%d", name, shorten(printable.SourceFile(f.File)), f.Line)
}

// Shown is the label in tables and trees: the functions of a file that have no names are one row there, and a name
// longer than [longestName] loses its middle.
func (f *Frame) Shown() string {
	if f.Nameless && f.Module != "" && !namehints.Bounded(f.Name, f.Module) && !strings.HasPrefix(f.Module, "[") {
		return f.label(cut) + " (unnamed)"
	}
	return f.label(cut)
}

// longestName is the length of a name up to which tables and trees have all of it, in bytes.
const longestName = 1 << 12

// cut takes the middle out of a long name.
func cut(name string) string {
	if len(name) <= longestName {
		return name
	}
	head, tail := longestName/2, len(name)-longestName/2
	for head > 0 && !utf8.RuneStart(name[head]) {
		head--
	}
	for tail < len(name) && !utf8.RuneStart(name[tail]) {
		tail++
	}
	return name[:head] + "…" + name[tail:]
}

// Fitted is what is shown made to fit into a width: the name is shortened, its line or file is kept.
func (f *Frame) Fitted(width int) string {
	name := printable.String(cut(f.Name))
	place := printable.String(strings.TrimPrefix(f.Shown(), cut(f.Name)))
	if room := width - tabular.PrintedWidth(place); room >= tabular.LeastColumn {
		return tabular.Shorten(name, room) + place
	}
	return tabular.Shorten(name+place, width)
}

// Stack gives the frames of a sample, innermost first. The slice is good until the
// next call.
func (d *Data) Stack(s *profile.Sample) []int32 {
	d.buf = d.buf[:0]
	for _, l := range s.Location {
		if d.err != nil {
			d.buf = d.buf[:0]
			break
		}
		fs, ok := d.byLoc[l]
		if !ok {
			fs = d.location(l)
			d.byLoc[l] = fs
		}
		if need := len(d.buf) + len(fs); need > cap(d.buf) && !d.Take(8*int64(need)) { // it grows to twice of it
			continue
		}
		d.buf = append(d.buf, fs...)
		d.visited += int64(len(fs))
	}
	if len(d.buf) == 0 {
		d.buf = append(d.buf, d.Number(Frame{Name: "[no stack]"}))
	}
	return d.buf
}

// location gives the frames of a location, the innermost inlined call first.
func (d *Data) location(l *profile.Location) []int32 {
	module := ""
	if l.Mapping != nil {
		module = moduleName(l.Mapping.File)
	}
	if !d.Take(8 * int64(len(l.Line))) {
		return nil
	}
	var fs []int32
	for _, ln := range l.Line {
		f := Frame{Name: functionName(&ln), Module: module}
		if f.Name == "" {
			continue
		}
		f.Script = l.Mapping != nil && namehints.Script(l.Mapping.File)
		// The recording names a mapping without a file so, and a stripped file's function by its address.
		f.Nameless = module != "" && f.Name == namehints.Bracketed(module) || namehints.Bounded(f.Name, module)
		if l.Mapping != nil && !f.Nameless {
			f.place(l.Mapping, ln.Function)
		}
		if d.Options.Lines {
			f.File, f.Line = ln.Function.Filename, int(ln.Line)
		}
		fs = append(fs, d.Number(f))
	}
	if len(fs) == 0 {
		fs = append(fs, d.Number(d.nameless(l, module)))
	}
	return fs
}

// functionName is the name to show for a line's function, "" for one that has none: no frame is made of it.
func functionName(ln *profile.Line) string {
	if ln.Function == nil {
		return ""
	}
	return cmp.Or(ln.Function.Name, ln.Function.SystemName)
}

// nameless is the frame of a location that has no function.
func (d *Data) nameless(l *profile.Location, module string) Frame {
	f := Frame{Name: namehints.Bracketed(module), Module: module, Nameless: true}
	if d.Options.Lines {
		f.Name = fmt.Sprintf("%#x %s", offset(l), f.Name)
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

// moduleName is the last part of a file's path; names in brackets stay whole.
func moduleName(file string) string {
	if file == "" || file[0] == '[' {
		return file
	}
	return filepath.Base(file)
}

// Number gives the number of a frame, which is new if it was not met before.
func (d *Data) Number(f Frame) int32 {
	if n, ok := d.index[f]; ok {
		return n
	}
	d.Take(frameCost)
	return Numbered(&d.Frames, d.index, f)
}
