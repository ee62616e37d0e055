// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"slices"

	"prywalk/internal/code/unnamedcode"
)

func (e *encoder) locations(r Resolver) {
	for i := range e.tables.locs {
		if e.used[i] && e.out.err == nil {
			e.location(uint64(i)+1, &e.tables.locs[i], r)
		}
	}
}

// location writes a Location: id 1, mapping_id 2, address 3, line 4.
func (e *encoder) location(id uint64, l *location, r Resolver) {
	e.msg = e.msg[:0]
	e.msg.Uint(1, id)
	if l.synthetic != 0 {
		e.line(Frame{Name: e.tables.names[l.synthetic-1]})
		e.out.message(fieldLocation, e.msg)
		return
	}
	e.msg.Uint(2, uint64(l.module))
	e.msg.Uint(3, l.addr)
	if l.module != 0 {
		e.mappings[l.module-1].used = true
		for _, f := range e.functionsOf(int(id)-1, r) {
			e.lineOf(l, f)
		}
	}
	e.out.message(fieldLocation, e.msg)
}

// functionsOf prefers interned frames, then final names, to r's answer.
func (e *encoder) functionsOf(loc int, r Resolver) []Frame {
	l := &e.tables.locs[loc]
	m := e.tables.modules[l.module-1]
	var fs []Frame
	switch {
	case l.framesID != 0:
		return e.tables.frameLists[l.framesID-1]
	case loc < len(e.tables.finalNames) && e.tables.finalNames[loc] != 0:
		fs = slices.Clip(e.tables.frameLists[e.tables.finalNames[loc]-1])
	case r != nil:
		fs = r.Resolve(m, l.addr-m.Bias)
		if s, ok := r.(FinalResolver); ok && s.IsFinal(m) {
			e.final = append(e.final, finalName{loc, slices.Clone(fs)})
		}
	}
	if l.machinery && len(fs) == 0 { // a frame type needs a function
		fs = append(fs, Frame{Name: unnamedcode.Bracketed(m.Path)})
	}
	return fs
}

func (e *encoder) lineOf(l *location, f Frame) {
	if f.Name == "" {
		return
	}
	flags := &e.mappings[l.module-1]
	flags.functions = true
	flags.files = flags.files || f.File != ""
	flags.lines = flags.lines || f.Line != 0
	flags.inlined = flags.inlined || f.Inlined
	if l.machinery {
		f.System = SystemNameOfType(cmp.Or(f.System, f.Name), Machinery)
	}
	e.line(f)
}

// line appends a Line: function_id 1, line 2.
func (e *encoder) line(f Frame) {
	e.sub = e.sub[:0]
	e.sub.Uint(1, e.function(f))
	e.sub.Int(2, int64(f.Line))
	e.msg.Bytes(4, e.sub)
}

func (e *encoder) function(f Frame) uint64 {
	if f.System == "" {
		f.System = f.Name
	}
	f.Line, f.Inlined = 0, false
	return uint64(NumberIn(&e.funcList, e.functions, f)) + 1
}

// writeFunctions writes Function messages: id 1, name 2, system_name 3, filename 4, start_line 5.
func (e *encoder) writeFunctions() {
	for i, f := range e.funcList {
		e.msg = e.msg[:0]
		e.msg.Uint(1, uint64(i)+1)
		e.msg.Int(2, e.strings.add(f.Name))
		e.msg.Int(3, e.strings.add(f.System))
		e.msg.Int(4, e.strings.add(f.File))
		e.msg.Int(5, int64(f.StartLine))
		e.out.message(fieldFunction, e.msg)
	}
}

func (e *encoder) writeMappings() {
	if e.tables.main >= 0 {
		e.mapping(e.tables.main)
	}
	for i := range e.tables.modules {
		if i != e.tables.main && e.mappings[i].used {
			e.mapping(i)
		}
	}
}

// mapping writes a Mapping: id 1, memory_start 2, memory_limit 3, file_offset 4, filename 5, build_id 6, has_functions
// 7, has_filenames 8, has_line_numbers 9, has_inline_frames 10. Unset flags make other tools look for names.
func (e *encoder) mapping(i int) {
	m, f := e.tables.modules[i], e.mappings[i]
	e.msg = e.msg[:0]
	e.msg.Uint(1, uint64(i)+1)
	e.msg.Uint(2, m.Start)
	e.msg.Uint(3, m.End)
	e.msg.Uint(4, m.FileOffset)
	e.msg.Int(5, e.strings.add(m.Path))
	e.msg.Int(6, e.strings.add(m.BuildID))
	e.msg.Bool(7, f.functions)
	e.msg.Bool(8, f.files)
	e.msg.Bool(9, f.lines)
	e.msg.Bool(10, f.inlined)
	e.out.message(fieldMapping, e.msg)
}
