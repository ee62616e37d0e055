// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/code/unnamedcode"
)

// Counterparts maps each frame of an earlier recording to that in a later one, or to itself. Name and module are equal,
// or the module is the program's own file under another name, or each side has the name in one module only, as after
// an update of a library.
func Counterparts(older, newer *Data) map[Frame]Frame {
	olderFrames, newerFrames := older.AllFrames(), newer.AllFrames()
	newer.Memory.Take(int64(len(olderFrames)+len(newerFrames)) * frameCost)
	isNewer, newerByName := map[Frame]bool{}, map[Frame][]Frame{}
	for _, f := range newerFrames {
		isNewer[f] = true
		newerByName[f.withoutModule()] = append(newerByName[f.withoutModule()], f)
	}
	olderByName := map[Frame]int{}
	for _, f := range olderFrames {
		olderByName[f.withoutModule()]++
	}
	renamed := moduleRenamer(older, newer)
	out := map[Frame]Frame{}
	for _, f := range olderFrames {
		counterpart := renamed(f)
		if name := f.withoutModule(); !isNewer[counterpart] && f.isFunction() && olderByName[name] == 1 &&
			len(newerByName[name]) == 1 {
			counterpart = newerByName[name][0]
		}
		out[f] = counterpart
	}
	return out
}

func (f *Frame) isFunction() bool {
	return !f.Nameless && !f.Synthetic() && !unnamedcode.IsPlaceholder(f.Name)
}

func moduleRenamer(older, newer *Data) func(Frame) Frame {
	oldName, newName := older.programModule(), newer.programModule()
	return func(f Frame) Frame {
		if oldName == "" || newName == "" || f.Module != oldName {
			return f
		}
		if f.Nameless {
			f.Name = strings.Replace(f.Name, unnamedcode.Bracketed(oldName), unnamedcode.Bracketed(newName), 1)
		}
		f.Module = newName
		return f
	}
}

func (sel *Selection) programModule() string {
	if len(sel.Profile.Mapping) == 0 {
		return ""
	}
	return ModuleName(sel.Profile.Mapping[0].File)
}

// AllFrames returns the frames of all samples, by number.
func (d *Data) AllFrames() []Frame {
	for _, s := range d.Profile.Sample {
		d.Table.Stack(s)
	}
	return d.Table.Frames
}

func (f *Frame) withoutModule() Frame {
	g := *f
	g.Module, g.Library = "", false
	return g
}

// Join returns a profile with the samples of two. The first type of values is the later one's, the second the earlier
// one's × factor, rounded so that each innermost function's values add up.
func Join(older, newer *Data, factor float64) *Data {
	d := *newer
	p := ShallowCopy(d.Profile)
	unit := p.SampleType[newer.ValueIndex].Unit
	p.SampleType = []*profile.ValueType{{Type: "new", Unit: unit}, {Type: "old", Unit: unit}}
	p.Comments, p.PeriodType = nil, nil
	d.Profile, d.ValueIndex = p, 0
	d.Memory.Take(frameCost*int64(len(d.Table.Frames)) + sampleCost*int64(len(older.Profile.Sample)+
		len(newer.Profile.Sample)))
	d.Table = newer.Table.clone()
	p.Sample = nil
	p.Location = slices.Concat(newer.Profile.Location, older.Profile.Location)
	counterparts := Counterparts(older, newer)
	for _, s := range newer.Profile.Sample {
		p.Sample = append(p.Sample, withValues(s, s.Value[newer.ValueIndex], 0))
	}
	remainder := map[int32]float64{} // of the values so far, by innermost frame
	for _, s := range older.Profile.Sample {
		leaf := older.Table.Stack(s)[0]
		exact := float64(s.Value[older.ValueIndex])*factor + remainder[leaf]
		rounded := math.Round(exact)
		remainder[leaf] = exact - rounded
		p.Sample = append(p.Sample, withValues(s, 0, int64(rounded)))
		for _, l := range s.Location {
			if _, ok := d.Table.byLoc[l]; ok {
				continue
			}
			fs := older.Table.framesOf(l)
			for i, f := range fs {
				fs[i] = d.Table.FrameIndex(counterparts[older.Table.Frames[f]])
			}
			d.Table.byLoc[l] = fs
		}
	}
	d.Memory.err = cmp.Or(d.Memory.err, older.Memory.err)
	return &d
}

func withValues(s *profile.Sample, newer, older int64) *profile.Sample {
	return &profile.Sample{Location: s.Location, Label: s.Label, Value: []int64{newer, older}}
}
