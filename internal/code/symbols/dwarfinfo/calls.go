// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

func (u *unit) calls(addr uint64, out []Call) []Call {
	t := u.funcsOf()
	lines := u.linesOf()
	file, line, known := lines.find(addr)
	id := t.find(addr)
	if id < 0 {
		if known {
			out = append(out, Call{File: lines.path(u, file), Line: int(line)})
		}
		return out
	}
	for n := 0; id >= 0 && n <= maxInline; n++ {
		s := &t.scopes[id]
		if s.fn == nil {
			s.fn = u.d.resolve(s.die)
		}
		out = append(out, Call{Func: s.fn, File: lines.path(u, file), Line: int(line), Inlined: s.parent >= 0})
		file, line = s.callFile, s.callLine
		id = s.parent
	}
	return out
}
