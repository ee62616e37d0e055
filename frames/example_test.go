// SPDX-License-Identifier: Apache-2.0

package frames_test

import (
	"encoding/binary"
	"fmt"

	"prywalk/frames"
)

// plain has one rule: a call pushes the return address only.
type plain struct{ root frames.Addr }

func (p plain) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.PC >= p.root { // the first function has no caller
		return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
	}
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 8, Method: frames.MethodCFI}, nil, true
}

// A walk needs the modules of a process, a register set and a copy of the stack.
func Example() {
	space := frames.NewSpace(frames.X86_64)
	space.SetModules([]*frames.Module{{Start: 0x400000, End: 0x401000, Bias: 0x400000, Name: "/bin/program",
		Sources: []frames.RuleSource{plain{root: 0x300}}}})

	stack := make([]byte, 16) // two return addresses
	binary.LittleEndian.PutUint64(stack, 0x400210)
	binary.LittleEndian.PutUint64(stack[8:], 0x400320)
	mem := &frames.Snapshot{Stack: frames.Region{Addr: 0x7ffc0000, Bytes: stack}}

	regs := frames.Regs{Arch: frames.X86_64, PC: 0x400105}
	regs.Set(frames.X86RSP, 0x7ffc0000)

	var w frames.Walker
	w.Init(space, &regs, mem)
	for w.Next() {
		f := w.Frame()
		fmt.Printf("%#x in %s (%s)\n", f.PC-f.Module.Bias, f.Module.Name, f.Method)
	}
	fmt.Println(w.StopReason())
	// Output:
	// 0x105 in /bin/program (context)
	// 0x210 in /bin/program (cfi)
	// 0x320 in /bin/program (cfi)
	// root
}
