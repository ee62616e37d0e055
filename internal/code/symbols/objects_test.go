// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
)

func TestVariablesAreNamedWithTheOffsetInThem(t *testing.T) {
	table := openTable(t, strings.TrimSpace(run(t, "", need(t, "gcc"), "-print-file-name=libc.so.6")))
	var at, function uint64
	table.from.File.EachNamed(elffile.DynSym, []string{"stdout", "printf"}, func(i int, s *elffile.Symbol) bool {
		if i == 0 {
			at = s.Value
		} else {
			function = s.Value
		}
		return at == 0 || function == 0
	})
	if name, off, ok := table.object(at + 4); name != "stdout" || off != 4 || !ok {
		t.Errorf("%s+%d, %v; want stdout+4", name, off, ok)
	}
	for what, at := range map[string]uint64{"an address without anything": 1 << 40, "a function": function} {
		if name, _, ok := table.object(at); ok {
			t.Errorf("%s at %s, %#x", name, what, at)
		}
	}
}
