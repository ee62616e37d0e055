// SPDX-License-Identifier: Apache-2.0

package golang

import "strings"

type startFunc struct {
	name   string
	system bool
	ok     bool
}

const maxStartFuncs = 1 << 14

type startFuncs struct {
	program *program
	byStart map[uint64]startFunc
	names   map[string]uint64 // 0: none
}

// A thread of C has no startpc.
const cgoStart = "runtime.cgocallback"

func (s *startFuncs) at(start uint64) startFunc {
	if start == 0 {
		return startFunc{name: cgoStart, ok: true}
	}
	found, known := s.byStart[start]
	if known {
		return found
	}
	if s.byStart == nil || len(s.byStart) >= maxStartFuncs {
		s.byStart = map[uint64]startFunc{}
	}
	if t, bias := s.program.tableAt(start); t != nil {
		if f, ok := t.find(start - bias); ok {
			name := string(t.name(&f))
			found = startFunc{name, isSystemStart(name), f.entry == start-bias}
		}
	}
	s.byStart[start] = found
	return found
}

func (s *startFuncs) named(name string) (addr uint64, ok bool) {
	addr, known := s.names[name]
	if !known {
		if all := s.program.table.funcByName(name); len(all) == 1 {
			addr = all[0] + s.program.bias
		}
		if s.names == nil {
			s.names = map[string]uint64{}
		}
		s.names[name] = addr
	}
	return addr, addr != 0
}

// The names are those of isSystemGoroutine in runtime/traceback.go.
func isSystemStart(name string) bool {
	return strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.handleAsyncEvent"
}
