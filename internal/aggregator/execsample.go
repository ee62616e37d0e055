// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"sync"

	"prywalk/internal/observe"
	"prywalk/internal/symbols"
)

// execSpan is the address range of load_elf_binary (fs/binfmt_elf.c); empty without kernel symbols.
var execSpan = sync.OnceValues(func() (from, to uint64) {
	names, err := symbols.OfKernel()
	if err != nil {
		return 0, 0
	}
	return names.Span("load_elf_binary")
})

// inExec reports whether a sample was taken while the kernel replaced the program. The old stack is gone, the user
// registers are not: begin_new_exec drops the memory first, start_thread sets the registers last.
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
