// SPDX-License-Identifier: Apache-2.0

// Package copyplan carries out a runtime's plan of what to copy ([managed.Plan]) while a thread is stopped or
// asleep. It allocates nothing in the steady state.
//
// # Algorithm
//
// The steps of a plan load words, and copy ranges, lists of nodes and the objects to which these point. An observation
// reads mostly what the last one of its thread has read ([Last]): before the steps run, one call reads those of these
// places that were present just before ([Last.CheckPresent]). The steps read what is missing.
//
// # Example
//
// A thread of CPython 3.13 runs a generator that f iterates, which the module calls. The frames of f and the module are
// in the newest chunk of the thread's data stack, the generator's is in the generator object, in the heap. The anchor,
// slot 0, is the thread state, 0x7f3c18004000 (makePlan of package cpython):
//
//	step                               reads                           gives
//	Copy   slot 0, Max 0x140           0x140 bytes at 0x7f3c18004000   region 1: the thread state
//	Load   slot 0 + datastack_chunk    (in region 1)                   slot 4 = 0x7f3c1a200000
//	Load   slot 0 + datastack_top      (in region 1)                   slot 5 = 0x7f3c1a200168
//	Copy   slot 4 to slot 5            0x168 bytes at 0x7f3c1a200000   region 2: frames of f and the module
//	Load   slot 0 + current_frame      (in region 1)                   slot 6 = 0x7f3c17f51258
//	CopyList slot 6, Size 0x48, Next 8 page of 0x7f3c17f51258          region 3, node 1: the generator's frame
//	                                   (in region 2)                   node 2: 0x7f3c1a2000a0, f's frame
//	                                   (in region 2)                   node 3: 0x7f3c1a200020, the module's; its word
//	                                                                   at 8 is 0, so the list ends
//	CopyTargets Off 0, Size 0xb8       0xb8 bytes at 0x7f3c17d0a4f0    region 4: code object of the generator; those of
//	                                                                   f and the module are in Skip
//
// Those are four reads. The next observation reads the regions 1, 2 and 4 in one call, and, when the list comes to a
// node outside of them, all nodes that had a region of their own in another.
package copyplan
