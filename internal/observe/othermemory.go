// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/ptrace"
)

// # Memory besides the stack
//
// A walk may need more than the thread's own stack. Each [OtherMemory] wraps the one before:
//
//	Thread.OtherMemory  package taskstack  what is set for the thread: the stack of its goroutine
//	plannedMemory       package copyplan   what a runtime's plan names: frames that are objects
//	otherStacks         otherstacks.go     around places on other stacks, where walks lacked memory
//	deepstack.Copier    package deepstack  pieces of a deep stack, instead of one piece

// OtherMemory copies memory besides the thread's stack.
type OtherMemory = ptrace.OtherMemory

// MemoryRegion copies the memory at Addr.
type MemoryRegion struct {
	ptrace.Wrapped
	Addr  uint64 // 0: none
	Bytes []byte
}

// Regions implements [ptrace.OtherMemory].
func (r *MemoryRegion) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	n := r.InnerRegions(regs, rd, out)
	if r.Addr == 0 || n == len(out) {
		return n
	}
	got := rd.Read(r.Addr, r.Bytes)
	out[n] = frames.Region{Addr: r.Addr, Bytes: r.Bytes[:got]}
	return n + 1
}
