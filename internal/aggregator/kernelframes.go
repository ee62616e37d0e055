// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"sync"

	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/symbols"
)

var kernelModule = &profile.ModuleInfo{
	Start: 1 << 63, End: ^uint64(0), Path: "[kernel]", Origin: profile.Origin{Kernel: true},
}

// kernelFrames numbers kernel frames: by address in samples of running threads, by name in those of sleepers.
type kernelFrames struct {
	builder   *profile.Builder
	functions map[string]profile.LocID
}

func (k *kernelFrames) function(name []byte) profile.LocID {
	id, ok := k.functions[string(name)]
	if !ok {
		described := k.builder.InternFrames([]profile.Frame{{Name: string(name), System: string(name)}})
		id = k.builder.Loc(&profile.Loc{Module: kernelModule, FramesID: described})
		keep(k.functions, string(name), id)
	}
	return id
}

func (b *stackBuilder) addKernelFrames(s *observe.RawSample) {
	for i, addr := range s.Kernel {
		if i > 0 {
			addr-- // the call may be the function's last instruction
		}
		if addr >= kernelModule.Start {
			b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Module: kernelModule, Addr: addr}))
		}
	}
	for name, rest := procmem.NextKernelFrame(s.KernelText); len(name) > 0; name, rest = procmem.NextKernelFrame(rest) {
		b.stack = append(b.stack, b.kernel.function(name))
	}
}

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
