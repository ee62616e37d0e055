// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"golang.org/x/arch/x86/x86asm"

	"prywalk/internal/show/dump/stacks"
)

type process struct {
	pid int
	mem *os.File
	cfi map[string]frame.FrameDescriptionEntries
}

func openProcess(t *testing.T, pid int) *process {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	return &process{pid: pid, mem: mem, cfi: map[string]frame.FrameDescriptionEntries{}}
}

func generated(f *stacks.Frame) bool { return f.Module == "" || f.Module == "[anon]" || f.Kind != "" }

func trampoline(f *stacks.Frame) bool {
	return f.Function == "__restore_rt" || f.Function == "runtime.sigreturn__sigaction"
}

func (p *process) called(ret uint64) bool {
	var b [8]byte
	if n, _ := p.mem.ReadAt(b[:], int64(ret)-int64(len(b))); n != len(b) {
		return false
	}
	for n := 2; n <= len(b); n++ {
		inst, err := x86asm.Decode(b[len(b)-n:], 64)
		if err == nil && inst.Len == n && inst.Op == x86asm.CALL {
			return true
		}
	}
	return false
}

// proves fails unless every return address from frame i on follows a call. Exempt are generated code, the root, and a
// handler, which the kernel makes return into the trampoline.
func (p *process) proves(fs []stacks.Frame, i int) error {
	for i = max(i, 1); i < len(fs)-1; i++ {
		if generated(&fs[i]) || trampoline(&fs[i]) || trampoline(&fs[i-1]) || p.called(uint64(fs[i].PC)) {
			continue
		}
		return fmt.Errorf("frame %d: no call before %#x in %s", i, uint64(fs[i].PC), fs[i].Module)
	}
	return nil
}

func (p *process) hasCFI(f *stacks.Frame, caller bool) bool {
	table, ok := p.cfi[f.Module]
	if !ok {
		table = readCFI(fmt.Sprintf("/proc/%d/root%s", p.pid, f.Module))
		p.cfi[f.Module] = table
	}
	pc := uint64(f.Offset)
	if caller {
		pc--
	}
	return slices.ContainsFunc(table, func(e *frame.FrameDescriptionEntry) bool { return e.Cover(pc) })
}

func readCFI(path string) frame.FrameDescriptionEntries {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var table frame.FrameDescriptionEntries
	for _, name := range []string{".eh_frame", ".debug_frame"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		addr := s.Addr
		if name == ".debug_frame" {
			addr = 0
		}
		if found, err := frame.Parse(data, binary.LittleEndian, 0, 8, addr); err == nil {
			table = table.Append(found)
		}
	}
	return table
}
