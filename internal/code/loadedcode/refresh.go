// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"slices"
	"sort"
	"strings"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

// Refresh reads the mappings again, and reports whether a walk can give another stack. Unchanged mappings keep their
// modules, except after an exec. Error after the process's end: a [*process.Error] of [errs.Exited].
func (p *Process) Refresh() (changed bool, err error) {
	if !p.Alive() {
		return false, process.Explain(p.PID, os.ErrNotExist)
	}
	space := p.Memory().Renew(p.PID)
	execed := space != p.addressSpace
	if execed {
		if err := p.resetAfterExec(); err != nil {
			return false, err
		}
	}
	if err := p.readMaps(); err != nil {
		return false, err
	}
	next, err := p.parseMappings(execed)
	if err != nil {
		return false, err
	}
	generated := p.runtimes.detected.changed()
	rewritten := p.jit.refresh() || generated
	if rewritten {
		p.space.Forget()
	}
	if !execed && slices.Equal(next, p.code) {
		if p.runtimes.detected.retry(&p.runtimes.host) {
			p.space.Forget()
			rewritten = true
		}
		return rewritten, nil
	}
	p.setMappings(next)
	p.addressSpace = space
	return true, nil
}

func (p *Process) resetAfterExec() error {
	err := p.AdoptProgram()
	p.files.tid = p.MemoryTID()
	p.jit.lost = true
	p.runtimes.detected = detectedRuntimes{}
	return err
}

func (p *Process) readMaps() error {
	for {
		var err error
		if p.text, err = procmem.ReadMaps(p.MemoryTID(), p.text); err != nil {
			return process.Explain(p.PID, err)
		}
		if len(p.text) > 0 {
			return nil
		}
		if !p.NextThread() {
			return process.Explain(p.PID, os.ErrNotExist)
		}
		p.files.tid = p.MemoryTID()
	}
}

func (p *Process) parseMappings(execed bool) ([]*Mapping, error) {
	p.spans = p.spans[:0]
	var next []*Mapping
	old := p.code
	if execed {
		old = nil
	}
	err := eachMapping(p.text, func(m *RawMapping) {
		p.spans = append(p.spans, m.span())
		if m.Perm&PermExec == 0 {
			return
		}
		for len(old) > 0 && old[0].Start < m.Start {
			old = old[1:]
		}
		if len(old) > 0 && old[0].isUnchanged(m) {
			next = append(next, old[0])
			return
		}
		at := Mapping{MapsLine: m.MapsLine, closed: p.closed}
		at.Path, at.Deleted = m.name()
		next = append(next, &at)
	})
	var st procmem.Status
	_ = procmem.ReadStatus(p.MemoryTID(), &st)
	spans := p.Memory().Spans()
	if !slices.Equal(p.spans, spans) {
		spans = slices.Clone(p.spans)
		p.Memory().SetSpans(spans)
	}
	p.Memory().SetSwapped(st.Swap > 0)
	return next, err
}

func (m *RawMapping) span() procmem.Span {
	s := procmem.Span{Start: m.Start, End: m.End, Writable: m.Perm&PermWrite != 0}
	name := string(m.RawPath)
	s.Grows = name == "[stack]"
	switch {
	case m.Perm&PermRead == 0:
	case m.Inode != 0 || m.Dev != 0 || m.Perm&permShared != 0:
		s.Kind = procmem.FileBacked
	case name == "" || s.Grows || name == "[heap]" || name == "[vdso]" || strings.HasPrefix(name, "[anon:"):
		s.Kind = procmem.Anonymous
	}
	return s
}

func (m *Mapping) isUnchanged(r *RawMapping) bool {
	if m.Start != r.Start || m.End != r.End || m.Offset != r.Offset || m.Dev != r.Dev || m.Inode != r.Inode {
		return false
	}
	if m.Inode != 0 && !m.Deleted && string(r.RawPath) == m.Path {
		return true // no allocation
	}
	path, _ := r.name()
	return path == m.Path
}

func (p *Process) setMappings(next []*Mapping) {
	before := p.code
	p.code = next
	defer func() {
		countUsers(p.code, 1)
		countUsers(before, -1)
	}()
	anonymous := p.makeModules(before)
	p.Comm = p.Name()
	FindCopies(p, anonymous)
	p.runtimes.Attach(p, p.modules)
	p.space.SetModules(p.modules)
	p.space.SetLeftStacks(p.runtimes.LeftStacks())
}

// makeModules makes the modules of new mappings; the others keep theirs.
func (p *Process) makeModules(before []*Mapping) (anonymous []*frames.Module) {
	known := p.modules // of before
	p.modules = make([]*frames.Module, len(p.code))
	for i, m := range p.code {
		for len(before) > 0 && before[0].Start < m.Start {
			before, known = before[1:], known[1:]
		}
		if len(before) > 0 && before[0] == m {
			p.modules[i] = known[0]
			continue
		}
		p.modules[i] = NewModule(p, m)
		if m.JIT && !m.Unresponsive {
			p.runtimes.SetSources(p.modules[i])
		}
		if m.JIT && m.Inode == 0 {
			anonymous = append(anonymous, p.modules[i])
		}
	}
	return anonymous
}

// StackEnd returns the end of the writable mapping with sp, or of the first thread's stack if sp is less than
// [procmem.MaxStackGrowth] below it; it returns 0 if there is none.
func (p *Process) StackEnd(sp uint64) uint64 {
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].End > sp })
	for i < len(p.spans) && !p.spans[i].Writable { // below a growing stack
		if p.spans[i].Start <= sp {
			return 0
		}
		i++
	}
	if i == len(p.spans) {
		return 0
	}
	s := &p.spans[i]
	if s.Start <= sp || s.Grows && s.Start-sp < procmem.MaxStackGrowth {
		return s.End
	}
	return 0
}

// FirstStackEnd returns the end of the first thread's stack, or 0.
func (p *Process) FirstStackEnd() uint64 {
	for i := range p.spans {
		if p.spans[i].Grows {
			return p.spans[i].End
		}
	}
	return 0
}

// DropCaches drops cached rules, and what runtimes have read, for measurements.
func (p *Process) DropCaches() {
	p.space.Forget()
	for r := range p.runtimes.detected.found {
		r.Forget()
	}
}
