// SPDX-License-Identifier: Apache-2.0

// Package deepstack copies stacks deeper than 64 KiB in pieces. A walk needs only the words near the outer ends of
// frames: the return address and the saved registers. x86-64 only.
//
// # Algorithm
//
// An [Outline] has the places of the frames' ends in a thread's last walks, and the frame size of each return address
// ([Learner]). A stop copies ([Copier]):
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
// # Example
//
// main calls load, which calls read_all, which has a buffer of 128 KiB and calls read. A walk of 193 KiB in one piece
// gives the frames' ends and return addresses:
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
package deepstack
