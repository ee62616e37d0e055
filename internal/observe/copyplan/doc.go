// SPDX-License-Identifier: Apache-2.0

// Package copyplan carries out a runtime's plan of what to copy ([managed.Plan]) while a thread is stopped or asleep.
// It allocates nothing in the steady state.
//
// # Algorithm
//
// The steps of a plan load words, and copy ranges, lists of nodes and the objects to which these point. An observation
// reads mostly what the last one of its thread has read ([Last]): one call reads those of these places that were
// present just before ([Last.CheckPresent]). The steps read what is missing.
//
// # Example
//
// A thread of CPython 3.13 runs a generator that f iterates, which the module calls. The frames of f and the module are
// in the newest chunk of the thread's data stack, the generator's is in the generator object. The anchor, slot 0, is
// the thread state, 0x7f3c18004000 (makePlan of package cpython):
//
//	step                               reads                           gives
//	Copy   slot 0, Max 0x100           0x100 bytes at 0x7f3c18004000   region 1: the thread state
//	Load   slot 0 + 0xe8               (in region 1)                   slot 4 = 0x7f3c18100000, datastack_chunk
//	Load   slot 0 + 0xf0               (in region 1)                   slot 5 = 0x7f3c18100168, datastack_top
//	Copy   slot 4 to slot 5            0x168 bytes at 0x7f3c18100000   region 2: frames of f and the module
//	Load   slot 0 + 0x48               (in region 1)                   slot 6 = 0x7f3c18051258, current_frame
//	CopyList slot 6, Size 0x50, Next 8 page of 0x7f3c18051258          region 3, node 1: the generator's frame
//	                                   (in region 2)                   node 2: 0x7f3c181000a0, f's frame
//	                                   (in region 2)                   node 3: 0x7f3c18100020, the module's
//	                                   (in the copy of the stack)      node 4: 0x7ffd35c2a1d0, the frame owned by the C
//	                                                                   stack; its word at 8 is 0, so the list ends
//	CopyTargets Off 0, Size 0x90       0x90 bytes at 0x7f3c1803a4f0    region 4: code object of the generator; those of
//	                                                                   f and the module, and node 4's None, are in Skip
//
// The next observation reads the regions 1, 2 and 4 in one call, and, when the list comes to a node outside of them,
// all nodes that had a region of their own in another.
package copyplan
