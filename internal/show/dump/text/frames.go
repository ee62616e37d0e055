// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/show/dump/stacks"
)

func writeStack(b *strings.Builder, t *stacks.Thread, native bool) {
	n := 0
	hidden, some := repeated(t.Frames, 0)
	for i := range t.Frames {
		f := &t.Frames[i]
		if some && i == hidden.to {
			hidden, some = repeated(t.Frames, i)
		}
		if some && i == hidden.from {
			hidden.write(b, t.Frames)
		}
		if f.Method == "" && f.Kind == "" || f.Machinery && !native {
			continue
		}
		if !some || i < hidden.from {
			writeFrame(b, n, f)
		}
		if !f.Inlined {
			n++
		}
	}
	if !t.Complete {
		printable.Fprintf(b, "      [incomplete: %s]\n", t.StopReason)
	}
}

func writeFrames(b *strings.Builder, list []stacks.Frame) {
	for i := range list {
		writeFrame(b, i, &list[i])
	}
}

func writeFrame(b *strings.Builder, n int, f *stacks.Frame) {
	name, module := cmp.Or(languages.ShownName(f.Function), "??"), withSeparator(" in ", f.Module)
	if f.Inlined {
		printable.Fprintf(b, "      %18s %s%s (inlined)\n", "", name, f.AtLine())
		return
	}
	address, how := fmt.Sprintf("0x%016x", uint64(f.PC)), f.Method
	if f.Kind != "" {
		how = f.Kind + withSeparator(" ", f.Type)
		if f.PC == 0 {
			address = ""
		}
	}
	printable.Fprintf(b, "  #%-2d %18s %s%s%s [%s]\n", n, address, name, f.AtLine(), module, how)
}

// A note needs 1/largePart of the threads.
const largePart = 20

// Notes returns what another dump may show, and the ways to name functions without names, once each.
func Notes(p *stacks.Process) []string {
	program := p.Program
	program.Again = "dump again"
	var rows []unnamedcode.Row
	threads, last := map[unnamedcode.Row]int{}, map[unnamedcode.Row]int{} // number of threads; 1 + the last's index
	for i := range p.Threads {
		for k := range p.Threads[i].Frames {
			r, ok := tableRow(&p.Threads[i].Frames[k])
			switch {
			case !ok || last[r] == i+1:
				continue
			case last[r] == 0:
				rows = append(rows, r)
			}
			last[r] = i + 1
			threads[r]++
		}
	}
	for i := range rows {
		rows[i].Large = largePart*threads[rows[i]] >= len(p.Threads)
	}
	var notes reasons
	who := fmt.Sprintf("process %d: ", p.PID)
	notes.add(p.TasksChanged, who+count(p.TasksChanged, "task")+" changed while being read; dump again")
	notes.add(p.TasksUnlisted, who+"not all tasks could be listed, as the program ran meanwhile; dump again")
	return append(notes, program.Notes(rows)...)
}

// tableRow returns false for a frame without code, or not shown.
func tableRow(f *stacks.Frame) (r unnamedcode.Row, ok bool) {
	if f.Method == "" && f.Kind == "" || f.Machinery {
		return r, false
	}
	r.Name, r.Module = f.Function, f.Module
	if !strings.HasPrefix(r.Module, "[") && r.Module != "" {
		r.Module = path.Base(r.Module)
	}
	if f.Kind == "" {
		r.Nameless = r.Name == "" || r.Name == unnamedcode.Bracketed(r.Module) || unnamedcode.IsAddressName(r.Name, r.Module)
	}
	if r.Name == "" {
		r.Name = unnamedcode.Bracketed(r.Module)
	}
	return r, true
}

const (
	maxCycle     = 16 // functions
	cycleEnds    = 10 // at least so many frames are shown at each end
	minHidden    = 50 // frames
	maxNamed     = 4  // functions
	maxNameWidth = 60
)

type repetition struct {
	from, to int
	period   int
}

// repeated returns the first part to hide at or after from: whole cycles, without about cycleEnds frames at each end.
func repeated(frames []stacks.Frame, from int) (r repetition, ok bool) {
	for at := from; at+2*cycleEnds+minHidden <= len(frames); {
		next := at + 1
		for period := 1; period <= maxCycle; period++ {
			end := at + period
			for end < len(frames) && isSameFunction(&frames[end], &frames[end-period]) {
				end++
			}
			hidden := end - at - 2*cycleEnds
			if hidden -= hidden % period; hidden >= minHidden && hidden >= 2*period {
				return repetition{at + cycleEnds, at + cycleEnds + hidden, period}, true
			}
			if period == 1 {
				next = end // no shorter cycle begins within equal frames
			}
		}
		at = max(at+1, min(next, at+cycleEnds))
	}
	return repetition{}, false
}

func isSameFunction(f *stacks.Frame, g *stacks.Frame) bool {
	if f.Place == g.Place {
		return f.Function != "" || f.PC == g.PC
	}
	return f.Function != "" && f.Function == g.Function && f.Module == g.Module && f.Inlined == g.Inlined &&
		f.Machinery == g.Machinery
}

func (r repetition) write(b *strings.Builder, frames []stacks.Frame) {
	var names []string
	for i := range frames[r.from : r.from+r.period] {
		name := cmp.Or(frames[r.from+i].Function, "??")
		names = append(names, tabular.Shorten(printable.String(name), maxNameWidth))
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("… (%d functions)", r.period))
	}
	hidden := r.to - r.from
	printable.Fprintf(b, "       … %s: %s, %s times\n", count(hidden, "frame"),
		strings.Join(names, " ← "), tabular.Thousands(int64(hidden/r.period)))
}
