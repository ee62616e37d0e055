// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// Application is the table of a program in a managed language: its own functions, with libraries and the interpreter
// folded into the function that called them. Self values and all folds add up to the whole.
type Application struct {
	Rows []Row // largest total first
	// Folds are by function of the program, or [Outside], the largest first.
	Folds map[int32][]*Fold
	// Interpreter is the interpreter's file. Its time counts as a function's call of it only if there is no other library
	// that the function called.
	Interpreter string
	index       map[foldKey]*Fold
}

type foldKey struct {
	own     int32
	library string
}

// Outside is no function of the program.
const Outside = int32(-1)

// Fold is the time in a library while a function of the program waits for its return.
type Fold struct {
	Library string
	Value   int64
	// Line is the only one of these calls, 0 if there are several. Stays are the times that a thread was seen in it and
	// had not been before: two calls without a look between them count as one. They last Time, without run queue time.
	Line, Stays int
	Time        int64
	lines       bool // several
	collector   bool
}

const (
	foldCost = 200
	// maxOutside is the inverse of the share that the program's own functions may lack.
	maxOutside = 3
	// Stays are short if their mean is at most shortStay ticks, and many from manyStays on.
	shortStay, manyStays = 2, 20
	maxCalls             = 64 // of one stack whose stays are counted
)

// IsOften reports many short stays from one line.
func (f *Fold) IsOften(tick int64) bool {
	return f.Stays >= manyStays && f.Time <= shortStay*tick*int64(f.Stays) && f.Line != 0 && !f.lines
}

// Application folds the selection; nil if its programs are not in a managed language, or over a third of the values is
// not under their own functions, without garbage collectors and compilers, which are one fold each.
func (d *Data) Application() *Application {
	a := &Application{Folds: map[int32][]*Fold{}, index: map[foldKey]*Fold{}, Interpreter: d.programModule()}
	clocks, timed := ClocksOf(d.Profile)
	samples := slices.Clone(d.Profile.Sample)
	SortByTime(samples)
	collectors := &ownNames{stacks: d.Table, collect: map[int32]string{}}
	last := map[[2]int64][]*Fold{} // by thread
	var own []*profile.Sample
	for _, s := range samples {
		stack, inner, calls := d.Table.Stack(s), 0, []*Fold(nil)
		for i, n := range stack {
			if !d.Table.Frames[n].IsOwn() {
				continue
			}
			if inner == 0 {
				own = append(own, s)
			}
			if i > inner {
				f := a.fold(d, n, d.Table.calledAs(stack[inner:i], a.Interpreter))
				if inner == 0 {
					f.Value += s.Value[d.ValueIndex]
				}
				line := d.lineOf(s, i)
				f.lines = f.lines || f.Line != 0 && f.Line != line
				f.Line = line
				if len(calls) < maxCalls && !slices.Contains(calls, f) {
					calls = append(calls, f)
				}
			}
			inner = i + 1
		}
		if inner == 0 {
			collector := collectors.collectorOf(s, stack)
			f := a.fold(d, Outside, cmp.Or(collector, d.Table.calledAs(stack[:1], a.Interpreter)))
			f.Value += s.Value[d.ValueIndex]
			f.collector = collector != ""
		}
		if inner == 0 || d.Table.Frames[stack[len(stack)-1]].incomplete() {
			continue // it does not show that a stay is over
		}
		thread := threadOf(s)
		for _, f := range calls {
			if timed && thread[1] != 0 && NumLabel(s, rec.LabelEnd) != 0 {
				f.Time += s.Value[clocks.Wall] - s.Value[clocks.RunQueue]
				if !slices.Contains(last[thread], f) {
					f.Stays++
				}
			}
		}
		last[thread] = calls
	}
	return a.withRows(d, own)
}

// fold returns that of a function and of a library that it called.
func (a *Application) fold(d *Data, own int32, library string) *Fold {
	k := foldKey{own, library}
	f := a.index[k]
	if f == nil && d.Memory.Take(foldCost) {
		f = &Fold{Library: k.library}
		a.index[k], a.Folds[own] = f, append(a.Folds[own], f)
	}
	return cmp.Or(f, &Fold{})
}

// calledAs names what a function of the program called: the outermost of the frames within it, if possible not one of
// the interpreter.
func (t *FrameTable) calledAs(within []int32, interpreter string) string {
	for _, n := range slices.Backward(within) {
		if f := &t.Frames[n]; f.Module != interpreter {
			return f.calledAs()
		}
	}
	return t.Frames[within[len(within)-1]].calledAs()
}

// calledAs names a built-in function, or the package or library of another one.
func (f *Frame) calledAs() string {
	if f.IsBuiltIn() && f.isFunction() {
		return f.Name
	}
	return cmp.Or(nativeLibrary.ReplaceAllString(f.Module, "$1"), f.Name)
}

// nativeLibrary finds "sqlite3" in libsqlite3.so.0 and in _sqlite3.cpython-311-x86_64-linux-gnu.so.
var nativeLibrary = regexp.MustCompile(`^(?:lib|_)?([^.]{3,}?)(?:\..*)?\.so(?:\.[\d.]+)?$`)

// lineOf returns the source line of a frame by its index in [FrameTable.Stack], or 0.
func (d *Data) lineOf(s *profile.Sample, index int) int {
	for _, l := range s.Location {
		switch n := len(d.Table.byLoc[l]); {
		case index >= n:
			index -= n
		case index < len(l.Line):
			return int(l.Line[index].Line)
		default:
			return 0
		}
	}
	return 0
}

func (a *Application) withRows(d *Data, samples []*profile.Sample) *Application {
	outside := int64(0)
	for own, folds := range a.Folds {
		slices.SortFunc(folds, func(x, y *Fold) int {
			return cmp.Or(cmp.Compare(y.Value, x.Value), strings.Compare(x.Library, y.Library))
		})
		for _, f := range folds {
			if own == Outside && !f.collector {
				outside += f.Value
			}
		}
	}
	a.Rows = slices.DeleteFunc(d.Rows(samples), func(r Row) bool { return !d.Table.Frames[r.Frame].IsOwn() })
	if len(a.Rows) == 0 || outside*maxOutside > d.Total(d.ValueIndex) {
		return nil
	}
	far := func(r *Row) float64 { return r.depth / max(1, float64(r.Total)) }
	slices.SortStableFunc(a.Rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(far(&y), far(&x)))
	})
	return a
}
