// SPDX-License-Identifier: Apache-2.0

// Package copysize learns from the walks of a thread how much of its stack the next observation copies: enough for a
// complete walk, and little more, as the thread is stopped meanwhile.
//
// # Algorithm
//
// A walk has an end ([WalkEnd]): complete, or what it lacked. Three learners each set a part of the [Hints]:
//
//	sizeLearner        stacksize.go    bytes from the stack pointer on, and the address beyond which nothing is copied
//	otherStackLearner  otherstacks.go  places on other stacks (signal stack, coroutine) to which walks went
//	depthLearner       sampledepth.go  whether the kernel's samples are too short for the stack, so that it is stopped
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
// The stack of a coroutine is 200 KiB deep, somewhere in a mapping of 1 GiB: no end is known. On arm64, where package
// deepstack does not apply:
//
//	depth    copied   walk                           next copy
//	200 KiB   64 KiB  cut: lacks the word at 64 KiB  256 KiB: four times as much; the thread is read again at once
//	200 KiB  256 KiB  complete at 200 KiB            249 KiB: 1/8 of what was too much less, and at most up to CopyEnd,
//	                                                 2 KiB beyond the outermost frame
//	100 KiB  102 KiB  complete at 100 KiB            230 KiB, at most up to CopyEnd
//	300 KiB  230 KiB  cut: lacks the word at 230 KiB 923 KiB, at most up to CopyEnd: 302 KiB; read again at once
//
// A walk that goes on at CopyEnd removes it, until a complete walk confirms it.
package copysize
