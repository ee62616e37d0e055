// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// Application is the table of a program in a managed language: its own functions, with libraries and the interpreter
// folded into the function that called them. The self values, folds and Outside add up to the whole.
type Application struct {
	Rows []OwnRow // largest total first
	// Outside is under no function of the program, by library.
	Outside []Fold
	fold    map[foldKey]*Fold
}

// OwnRow is a function of the program.
type OwnRow struct {
	Row
	Folds []Fold // largest first
}

// Fold is the time in a library while a function of the program waits for its return.
type Fold struct {
	Library string
	Value   int64
	// Stays is the number of short stays that were seen from one line, 0 if they are few or long.
	Stays, Line int
}

type foldKey struct {
	own     int32 // -1: none
	library string
}

const (
	outside  = -1
	foldCost = 200
	// maxOutside is the inverse of the share that the program's own functions may lack.
	maxOutside = 3
	// Stays are short if their mean without run queue time is at most shortStay ticks, and many from manyStays on.
	shortStay, manyStays = 2, 20
	// minOften is the inverse of the share from which on calls can be worth a word.
	minOften = 20
)

// Application folds the selection; nil if its programs are not in a managed language, or most time is not under their
// own functions.
func (d *Data) Application() *Application {
	a := &Application{fold: map[foldKey]*Fold{}}
	own := func(n int32) bool {
		f := &d.Frames[n]
		return f.OwnRank() == ownScript && !f.isBuiltIn()
	}
	var samples []*profile.Sample // with values and functions of the program
	all, in := int64(0), int64(0)
	for _, s := range d.Profile.Sample {
		v := s.Value[d.ValueIndex]
		if v == 0 {
			continue
		}
		stack := d.Stack(s)
		all += v
		i := slices.IndexFunc(stack, own)
		k := foldKey{outside, ""}
		if i >= 0 {
			k.own, in = stack[i], in+v
			samples = append(samples, s)
		}
		if i != 0 {
			k.library = d.library(stack[:max(i, 0)], stack[0])
			if !a.add(d, k, v) {
				return nil
			}
		}
	}
	if in == 0 || (all-in)*maxOutside > all {
		return nil
	}
	a.setRows(d, samples, own)
	a.setStays(d, samples, own, all)
	a.sortFolds()
	return a
}

func (a *Application) add(d *Data, k foldKey, v int64) bool {
	f := a.fold[k]
	if f == nil {
		if !d.Memory.Take(foldCost) {
			return false
		}
		f = &Fold{Library: k.library}
		a.fold[k] = f
	}
	f.Value += v
	return true
}

// library names what a function of the program called, of the frames within it: the outermost package, built-in
// function, or native library that is neither the interpreter nor the system's, else the innermost frame's file.
func (d *Data) library(within []int32, innermost int32) string {
	for _, n := range slices.Backward(within) {
		switch f := &d.Frames[n]; {
		case f.isBuiltIn():
			return f.Name
		case f.Module != "" && (f.Script || !f.IsSupport()):
			return libraryName(f.Module)
		}
	}
	f := &d.Frames[innermost]
	return cmp.Or(libraryName(f.Module), f.Name)
}

// isBuiltIn reports a function of the runtime itself: it has neither a package nor a source file.
func (f *Frame) isBuiltIn() bool { return f.Script && strings.HasPrefix(f.Module, "[") }

// libraryName returns "sqlite3" for libsqlite3.so.0 and for _sqlite3.cpython-311-x86_64-linux-gnu.so.
func libraryName(module string) string {
	name, _, native := strings.Cut(module, ".so")
	if !native {
		return module
	}
	name, _, extension := strings.Cut(name, ".cpython-")
	if short := strings.TrimPrefix(name, "lib"); len(short) > len("xx") {
		name = short
	}
	if extension {
		return strings.TrimPrefix(name, "_")
	}
	return name
}

func (a *Application) setRows(d *Data, samples []*profile.Sample, own func(int32) bool) {
	for _, r := range d.Rows(samples) {
		if own(r.Frame) {
			a.Rows = append(a.Rows, OwnRow{Row: r})
		}
	}
	far := func(r *OwnRow) float64 { return r.depth / max(1, float64(r.Total)) }
	slices.SortStableFunc(a.Rows, func(x, y OwnRow) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(far(&y), far(&x)))
	})
}

// staying is a thread's last sample in time.
type staying struct {
	keys []foldKey // the calls of libraries on its stack
	end  int64
}

// setStays counts short stays of threads in libraries that a function of the program called. A stay ends where the
// thread is seen without that call: two calls without a look between them count as one.
func (a *Application) setStays(d *Data, samples []*profile.Sample, own func(int32) bool, all int64) {
	clocks, ok := ClocksOf(d.Profile)
	if !ok || d.Profile.Period <= 0 {
		return
	}
	samples = slices.Clone(samples)
	SortByTime(samples)
	type count struct {
		stays int
		time  int64
		lines map[int]int64
	}
	counts, threads := map[foldKey]*count{}, map[[2]int64]staying{}
	for _, s := range samples {
		t := threadOf(s)
		end := NumLabel(s, rec.LabelEnd)
		if t[1] == 0 || end == 0 {
			continue
		}
		last, now := threads[t], staying{end: end}
		stack := d.Stack(s)
		for inner, i := 0, 0; i < len(stack); i++ {
			if !own(stack[i]) {
				continue
			}
			k := foldKey{own: stack[i]}
			if i > inner {
				k.library = d.library(stack[inner:i], stack[inner])
			}
			inner = i + 1
			f := a.fold[k]
			if f == nil || f.Value*minOften < all || slices.Contains(now.keys, k) {
				continue
			}
			now.keys = append(now.keys, k)
			c := counts[k]
			if c == nil {
				c = &count{lines: map[int]int64{}}
				counts[k] = c
			}
			time := s.Value[clocks.Wall] - s.Value[clocks.RunQueue]
			c.time += time
			c.lines[lineOf(s, i)] += time
			if !slices.Contains(last.keys, k) {
				c.stays++
			}
		}
		threads[t] = now
	}
	for k, c := range counts {
		if c.stays < manyStays || c.time > shortStay*d.Profile.Period*int64(c.stays) {
			continue
		}
		for line, time := range c.lines {
			if 10*time >= 9*c.time { // one call site
				a.fold[k].Stays, a.fold[k].Line = c.stays, line
			}
		}
	}
}

// lineOf returns the source line of a frame by its index in [FrameTable.Stack], or 0.
func lineOf(s *profile.Sample, index int) int {
	for _, l := range s.Location {
		named := 0
		for i := range l.Line {
			if functionName(&l.Line[i]) == "" {
				continue
			}
			if index == named {
				return int(l.Line[i].Line)
			}
			named++
		}
		index -= max(1, named)
	}
	return 0
}

func (a *Application) sortFolds() {
	rows := map[int32]*OwnRow{}
	for i := range a.Rows {
		rows[a.Rows[i].Frame] = &a.Rows[i]
	}
	for k, f := range a.fold {
		if r := rows[k.own]; r != nil {
			r.Folds = append(r.Folds, *f)
		} else {
			a.Outside = append(a.Outside, *f)
		}
	}
	largest := func(x, y Fold) int {
		return cmp.Or(cmp.Compare(y.Value, x.Value), strings.Compare(x.Library, y.Library))
	}
	slices.SortFunc(a.Outside, largest)
	for i := range a.Rows {
		slices.SortFunc(a.Rows[i].Folds, largest)
	}
}
