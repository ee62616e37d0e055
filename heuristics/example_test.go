// SPDX-License-Identifier: Apache-2.0

package heuristics_test

import (
	"fmt"

	"prywalk/frames"
	"prywalk/heuristics"
)

// code is a module that is one function: push %rbx; sub $0x20,%rsp; call; add $0x20,%rsp; pop %rbx; ret.
type code []byte

func (c code) ReadCode(addr uint64, buf []byte) int {
	if addr >= uint64(len(c)) {
		return 0
	}
	return copy(buf, c[addr:])
}

// A source finds the return address by reading the instructions up to the return.
func Example() {
	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code{
		0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 0, 1, 0, 0, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3,
	}})
	for _, q := range []frames.Query{{PC: 5}, {PC: 10, AfterCall: true}, {PC: 15}} {
		rule, _, ok := source.Rule(q)
		fmt.Printf("at %d: known %v, CFA = register %d + %d (%s)\n", q.PC, ok, rule.CFAReg, rule.CFAOff, rule.Method)
	}
	// Output:
	// at 5: known true, CFA = register 7 + 48 (heuristic)
	// at 10: known true, CFA = register 7 + 48 (heuristic)
	// at 15: known true, CFA = register 7 + 8 (heuristic)
}
