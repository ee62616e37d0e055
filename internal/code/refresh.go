// SPDX-License-Identifier: Apache-2.0

package code

import (
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"prywalk/internal/process"
	"prywalk/internal/procmem"
)

// mainStack is how far below its mapping the first thread's stack pointer is still
// taken to be in it: the usual limit of a stack that grows.
const mainStack = 8 << 20

// Refresh reads the list of mappings anew and reports whether code came, went or was
// written anew, so that a walk may now give another stack. A module whose mapping is
// unchanged is kept. The rules that the Space has cached are dropped when modules change,
// and when code that the process itself writes is no longer what a rule was made from. The
// error is an [*process.Error] of [refusal.Gone] when the process has ended.
func (p *Process) Refresh() (changed bool, err error) {
	if !p.Alive() {
		return false, process.Explain(p.PID, os.ErrNotExist)
	}
	if p.Memory().Stale() {
		p.Memory().Reopen(p.MemoryTID())
	}
	if err := p.readMaps(); err != nil {
		return false, err
	}
	next, err := p.scan()
	if err != nil {
		return false, err
	}
	generated := p.runtimes.changed()
	rewritten := p.jit.refresh() || generated
	if rewritten {
		p.runtimes.code.Forget()
		p.space.Forget()
	}
	if slices.EqualFunc(next, p.code, func(a, b mapped) bool { return a.at == b.at }) {
		if p.runtimes.again() {
			p.space.Forget()
			rewritten = true
		}
		return rewritten, nil
	}
	if !slices.ContainsFunc(next, func(m mapped) bool { return m.mod != nil }) {
		if err := p.exec(); err != nil {
			return false, err
		}
	}
	p.adopt(next)
	return true, nil
}

// exec: nothing is as it was, so the process runs another program, which may be one
// that cannot be looked at.
func (p *Process) exec() error {
	p.runtimes.exec()
	return p.AfterExec()
}

// readMaps fills p.text.
func (p *Process) readMaps() error {
	f, err := os.Open(process.Path(p.MemoryTID(), "maps"))
	if err != nil {
		return process.Explain(p.PID, err)
	}
	defer f.Close()
	p.text = p.text[:0]
	for {
		p.text = slices.Grow(p.text, 1<<14)
		n, err := f.Read(p.text[len(p.text):cap(p.text)])
		p.text = p.text[:len(p.text)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return process.Explain(p.PID, err)
		}
	}
	if len(p.text) == 0 {
		return p.noMaps()
	}
	return nil
}

// noMaps: an empty list means that this thread has ended; others can live on.
func (p *Process) noMaps() error {
	if !p.NextThread() {
		return process.Explain(p.PID, os.ErrNotExist)
	}
	p.jit.tid, p.files.tid = p.MemoryTID(), p.MemoryTID()
	return p.readMaps()
}

// scan parses p.text: all mappings are told to p.Memory(), the executable ones are
// given back, those that were there before as they were.
func (p *Process) scan() ([]mapped, error) {
	p.spans = p.spans[:0]
	var next []mapped
	old := p.code
	err := eachMapping(p.text, func(m *RawMapping) {
		p.spans = append(p.spans, m.span())
		if m.Perm&PermExec == 0 {
			return
		}
		for len(old) > 0 && old[0].at.Start < m.Start {
			old = old[1:]
		}
		if len(old) > 0 && old[0].at.same(m) {
			next = append(next, old[0])
			return
		}
		at := m.Mapping
		at.Path, at.Deleted = m.name()
		at.over = p.over
		next = append(next, mapped{at: &at})
	})
	p.tellSpans()
	return next, err
}

// tellSpans tells the mappings to those who read memory, if they are others than before.
func (p *Process) tellSpans() {
	var st procmem.Status
	_ = procmem.ReadStatus(p.MemoryTID(), &st) // zero then
	spans := p.Memory().Spans()
	if !slices.Equal(p.spans, spans) {
		spans = slices.Clone(p.spans)
		p.Memory().SetSpans(spans)
	}
	p.Memory().SetSwapped(st.Swap > 0)
}

// span says how a mapping is to be read.
func (m *RawMapping) span() procmem.Span {
	s := procmem.Span{Start: m.Start, End: m.End, Writable: m.Perm&PermWrite != 0}
	name := string(m.RawPath)
	s.Grows = name == "[stack]"
	switch {
	case m.Perm&PermRead == 0:
	case m.Inode != 0 || m.Dev != 0 || m.Perm&PermShared != 0:
		s.Kind = procmem.OfFile
	case name == "" || s.Grows || name == "[heap]" || name == "[vdso]" || strings.HasPrefix(name, "[anon:"):
		s.Kind = procmem.Anonymous
	}
	return s
}

// same reports whether a line of the list is the mapping that it was before.
func (m *Mapping) same(r *RawMapping) bool {
	if m.Start != r.Start || m.End != r.End || m.Offset != r.Offset || m.Dev != r.Dev || m.Inode != r.Inode {
		return false
	}
	if m.Inode != 0 && !m.Deleted && string(r.RawPath) == m.Path {
		return true // the usual case, without an allocation
	}
	path, _ := r.name()
	return path == m.Path
}

// adopt makes modules of the new mappings and gives all to the Space.
func (p *Process) adopt(next []mapped) {
	before := p.code
	p.code = next
	defer func() {
		count(p.code, 1)
		count(before, -1)
	}()
	bare := p.makeModules()
	p.Comm = p.Name()
	FindCopies(p, bare)
	p.useModules()
}

// StackEnd gives the end of the mapping that the stack pointer sp is in, 0 if there
// is none as of the last Refresh.
func (p *Process) StackEnd(sp uint64) uint64 {
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].End > sp })
	for i < len(p.spans) && !p.spans[i].Writable { // below the stack that grows
		if p.spans[i].Start <= sp {
			return 0
		}
		i++
	}
	if i == len(p.spans) {
		return 0
	}
	s := &p.spans[i]
	if s.Start <= sp || s.Grows && s.Start-sp < mainStack {
		return s.End
	}
	return 0
}

// Forget drops the rules and whatever the analysis of instructions has found, also of the files that other
// processes share. The next walk begins as the first one did, but for the files' headers, and where a Java machine
// has its interpreter and its stubs. It is there for measurements.
func (p *Process) Forget() {
	p.space.Forget()
	p.runtimes.forget()
	for i := range p.code {
		if img := p.code[i].at.Image; img != nil {
			img.forget()
		}
	}
}
