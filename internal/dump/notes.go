// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/printable"
)

// largePart: functions without names need a note if 1/largePart of the threads have them.
const largePart = 20

// Notes gives the ways to name functions without names, once each.
func (p *Process) Notes() []string {
	program := p.program
	program.Again = "dump again"
	var rows []namehints.Row
	threads, last := map[namehints.Row]int{}, map[namehints.Row]int{} // number of threads; the last, plus 1
	for i := range p.Threads {
		for k := range p.Threads[i].Frames {
			r, ok := p.Threads[i].Frames[k].tableRow()
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
	return program.Notes(rows)
}

// tableRow returns false for a frame without code, or not shown.
func (f *Frame) tableRow() (r namehints.Row, ok bool) {
	if f.Method == "" && f.Kind == "" || f.Machinery {
		return r, false
	}
	r.Name, r.Module = f.Function, f.Module
	if !strings.HasPrefix(r.Module, "[") && r.Module != "" {
		r.Module = path.Base(r.Module)
	}
	if f.Kind == "" {
		r.Nameless = r.Name == "" || r.Name == namehints.Bracketed(r.Module) || namehints.IsAddressName(r.Name, r.Module)
	}
	if r.Name == "" {
		r.Name = namehints.Bracketed(r.Module)
	}
	return r, true
}

func programOf(space *frames.Space, sources []managed.FrameSource, pid int) namehints.Program {
	p := namehints.Program{PID: pid}
	for _, m := range space.Modules() {
		at := code.MappingOf(m)
		if at == nil || at.Path == "" || slices.Contains(p.Mappings, at.Path) {
			continue
		}
		p.Mappings = append(p.Mappings, at.Path)
		if !strings.HasPrefix(at.Path, "[") {
			p.Files = append(p.Files, at.Path)
		}
	}
	for _, n := range sources {
		p.Mappings = append(p.Mappings, "["+n.Name()+"]")
	}
	return p
}

// writeHeading writes the process, its counts, and what holds for all of its threads.
func (p *Process) writeHeading(b *strings.Builder, counts string) {
	printable.Fprintf(b, "%s, %s\n", p.heading(), counts)
	if p.Frozen != "" {
		printable.Fprintf(b, "no thread runs: the cgroup %s is frozen (as by docker pause)\n", p.Frozen)
	}
}

func (p *Process) heading() string {
	if p.link == "" {
		return fmt.Sprintf("process %d %s", p.PID, p.Name)
	}
	return fmt.Sprintf("process %d %s (%s)", p.PID, p.Name, p.link)
}
