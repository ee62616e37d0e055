// SPDX-License-Identifier: Apache-2.0

// Package copying copies, of a thread that is stopped or asleep, what its walk needs, and learns from the walks what
// that is: enough for a complete walk, and little more, as the thread is stopped meanwhile. It allocates nothing in the
// steady state.
//
//	Learner      learner.go     what the next observation copies ([Hints]), from the walks of a thread
//	PlanCopier   plancopier.go  what a runtime's plan names ([managed.Plan])
//
// # How much to copy
//
// A walk has an end ([WalkEnd]): complete, or what it lacked. Three learners each set a part of the [Hints]:
//
//	sizeLearner        stacksize.go    bytes from the stack pointer on
//	otherStackLearner  otherstacks.go  places on other stacks (signal stack, coroutine) to which walks went
//	depthLearner       stacksize.go    whether the kernel's samples are too short for the stack, so that it is stopped
//
// A copy of a stack is as long as the last walks needed, at least 64 KiB, and ends with the mapping. After one that was
// too short, the next is four times as long, and the thread is read again at once. Sizes fall slowly, as depths vary:
//
//	depth    copied   walk      next copy
//	200 KiB   64 KiB  cut       256 KiB
//	200 KiB  256 KiB  complete  255 KiB: 1/64 of what was too much less
//	100 KiB  255 KiB  complete  252 KiB
//	300 KiB  252 KiB  cut       1011 KiB
//
// # Other stacks
//
// Tables or a signal's frame lead from one stack to another by a word in memory: OCaml 5 calls C on the thread's first
// stack, and keeps the place where it left its own one there. That word is at the same address in the next
// observations, its value is another. So the next copies read the word, and copy where it leads to
// ([OtherStack.Link]), else around the last place.
//
// # Plans
//
// The steps of a plan load words, and copy ranges, lists of nodes and the objects to which these point. What one step
// has copied, later ones do not read again.
//
// An example: a thread of CPython 3.13 runs a generator that f iterates, which the module calls. The frames of f and
// the module are in the newest chunk of the thread's data stack, the generator's is in the generator object. The
// anchor, slot 0, is the thread state, 0x7f3c18004000 (makePlan of package cpython):
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
package copying
