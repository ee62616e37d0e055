// SPDX-License-Identifier: Apache-2.0

// Package copying copies, of a thread that is stopped or asleep, what its walk needs, and learns from the walks what
// that is: enough for a complete walk, and little more, as the thread is stopped meanwhile. It allocates nothing in the
// steady state.
//
//	Learner      learner.go     what the next observation copies ([Hints]), from the walks of a thread
//	DeepCopier   deepcopier.go  a stack deeper than 64 KiB, in pieces
//	PlanCopier   plancopier.go  what a runtime's plan names ([managed.Plan])
//
// # How much to copy
//
// A walk has an end ([WalkEnd]): complete, or what it lacked. Four learners each set a part of the [Hints]:
//
//	sizeLearner        stacksize.go    bytes from the stack pointer on, and the address beyond which nothing is copied
//	otherStackLearner  otherstacks.go  places on other stacks (signal stack, coroutine) to which walks went
//	depthLearner       stacksize.go    whether the kernel's samples are too short for the stack, so that it is stopped
//	outlineLearner     outline.go      where the frames of a deep stack end
//
// # Other stacks
//
// Tables or a signal's frame lead from one stack to another by a word in memory: OCaml 5 calls C on the thread's first
// stack, and keeps the place where it left its own one there. That word is at the same address in the next
// observations, its value is another. So the next copies read the word, and copy where it leads to
// ([OtherStack.Link]), else around the last place.
//
// # Example
//
// The stack of a coroutine is 200 KiB deep, somewhere in a mapping of 1 GiB: no end is known. On arm64, where outlines
// do not apply:
//
//	depth    copied   walk                           next copy
//	200 KiB   64 KiB  cut: lacks the word at 64 KiB  256 KiB: four times as much; the thread is read again at once
//	200 KiB  256 KiB  complete at 200 KiB            249 KiB: 1/8 of what was too much less, and at most up to CopyEnd,
//	                                                 2 KiB beyond the outermost frame
//	100 KiB  102 KiB  complete at 100 KiB            230 KiB, at most up to CopyEnd
//	300 KiB  230 KiB  cut: lacks the word at 230 KiB 923 KiB, at most up to CopyEnd: 302 KiB; read again at once
//
// A walk that goes on at CopyEnd removes it, until a complete walk confirms it.
//
// # Deep stacks
//
// A walk needs only the words near the outer ends of frames: the return address and the saved registers. So stacks
// deeper than 64 KiB are copied in pieces, on x86-64.
//
// An [Outline] has the places of the frames' ends in a thread's last walks, and the frame size of each return address
// ([outlineLearner]). A stop copies ([DeepCopier]):
//
//   - the top of the stack and, in the same read, a piece at each known end
//
//   - from each known return address in the top, as some are stale, frame by frame, the ends at new places
//     ([search.followTop])
//
//   - if no such chain leads to the outermost frame: all up to the last known end of the stack, if near; else further
//     memory until a return address in it leads there ([search.copyUntilChain])
//
//     sp                                                                    root
//     │ top: 24 KiB │      │ end │                │ end │   │ end │      │ end │
//
// If the walk lacks a word, the next stop copies in one piece.
//
// An example: main calls load, which calls read_all, which has a buffer of 128 KiB and calls read. A walk of 193 KiB
// in one piece gives the frames' ends and return addresses:
//
//	at           return address        learned: frame size, to the next end
//	0x7f10000a0  0x401136 in read_all  0x20040
//	0x7f10200e0  0x4011c2 in load      0x10050
//	0x7f1030130  0x401210 in main      the outermost frame
//
// The next stop finds the thread 4 KiB deeper. The top has the word 0x401136 at 0x7f0fff098, so the frame's end is at
// 0x7f0fff0a0; the next one at 0x7f0fff0a0 + 0x20040 = 0x7f101f0e0. 768 bytes are copied there, and have 0x4011c2. The
// end after that is at 0x7f101f0e0 + 0x10050 = 0x7f102f130, and has 0x401210, which is known as the outermost. This
// copies 26 KiB instead of 193, apart from the pieces at the known ends.
//
// # Plans
//
// The steps of a plan load words, and copy ranges, lists of nodes and the objects to which these point. An observation
// reads mostly what the last one of its thread has read ([LastReads]): one call reads those of these places that were
// present just before ([LastReads.CheckPresent]). The steps read what is missing.
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
//
// The next observation reads the regions 1, 2 and 4 in one call, and, when the list comes to a node outside of them,
// all nodes that had a region of their own in another.
package copying
