// SPDX-License-Identifier: Apache-2.0

// Package samestack tells, without a walk, that a sleeper has the stack that it had in an earlier sleep.
//
// # Algorithm
//
// What a walk comes to follows from the registers that it begins with, the words of the stack that it reads, and the
// rules of the code. So a walk that has reached the thread's first function is made once more, on a memory that notes
// which words are read ([Learner.Learn]). Most of these do not matter: they are values that a function keeps for its
// caller. Which ones do is found by further walks with other values. The first changes all words but the return
// addresses, and the registers that carry a system call's arguments. The next ones leave zeros as they are, and then
// what may point into the stack. If the frames are the same, what was changed does not matter. A frame's place is its
// rule's register and a constant, so that another value would have led elsewhere. If none gives the same frames, every
// word and register counts.
//
// A later sleep has the same stack if the stack pointer, the program counter and those words are the same
// ([Words.Hold]). Rules can change, as where a library is loaded anew at the same place, so that this is to be believed
// for a limited time only.
package samestack
