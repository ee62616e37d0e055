// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
)

func TestVariablesAreNamedWithTheOffsetInThem(t *testing.T) {
	table := openTable(t, strings.TrimSpace(run(t, "", need(t, "gcc"), "-print-file-name=libc.so.6")))
	var at uint64
	table.opt.File.EachNamed(elffile.DynSym, []string{"stdout"}, func(_ int, s *elffile.Symbol) bool {
		at = s.Value
		return false
	})
	if name, off, ok := table.object(at + 4); name != "stdout" || off != 4 || !ok {
		t.Errorf("%s+%d, %v; want stdout+4", name, off, ok)
	}
	if name, _, ok := table.object(1 << 40); ok {
		t.Errorf("%s at an address without a variable", name)
	}
}
