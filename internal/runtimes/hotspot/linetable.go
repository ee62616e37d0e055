// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"
)

func (n *methodNames) readLines(m *method, whole uint64) {
	from := m.code + m.size
	size := min(m.constMethod+whole-from, maxLines)
	n.table = slices.Grow(n.table[:0], int(size))[:size]
	if !n.vm.memory().bytes(from, n.table) {
		return
	}
	s, best, line := stream{b: n.table, least: n.layout.least}, int32(-1), int32(0)
	eachLine(&s, func(at, l int32) bool {
		if at <= 0 && at >= best {
			best, line = at, l
		}
		return true
	})
	m.lines, m.first = bytes.Clone(n.table[:len(n.table)-len(s.b)]), int(max(line, 0))
}

// lineAt gives the line of the nearest entry up to bci, 0 if unknown (Method::line_number_from_bci).
func (n *methodNames) lineAt(m *method, bci int32) int {
	best, line := int32(-1), int32(0)
	s := stream{b: m.lines, least: n.layout.least}
	eachLine(&s, func(at, l int32) bool {
		if at <= bci && at >= best {
			best, line = at, l
		}
		return true
	})
	return int(max(line, 0))
}

// eachLine decodes a line table: a byte of deltas in 5 bits (bytecode index) and 3 (line), or 0xff and both as signed
// numbers; 0 ends it.
func eachLine(s *stream, f func(bci, line int32) bool) {
	bci, line := int32(0), int32(0)
	for {
		switch c := s.byte(); {
		case s.failed || c == 0:
			return
		case c == 0xff:
			bci += s.signed()
			line += s.signed()
		default:
			bci += int32(c >> 3)
			line += int32(c & 7)
		}
		if s.failed || !f(bci, line) {
			return
		}
	}
}
