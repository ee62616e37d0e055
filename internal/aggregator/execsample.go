// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"sync"

	"prywalk/internal/observe"
	"prywalk/internal/symbols"
)

// execSpan is load_elf_binary's addresses (fs/binfmt_elf.c); empty without kernel symbols.
var execSpan = sync.OnceValues(func() (from, to uint64) {
	names, err := symbols.ReadKernelNamesOnce()
	if err != nil {
		return 0, 0
	}
	return names.FuncRange("load_elf_binary")
})

// inExec reports a sample in an exec: begin_new_exec drops the memory first, start_thread sets the user registers last.
func inExec(s *observe.RawSample) bool {
	if len(s.Kernel) == 0 {
		return false
	}
	from, to := execSpan()
	for _, addr := range s.Kernel {
		if from <= addr && addr < to {
			return true
		}
	}
	return false
}
