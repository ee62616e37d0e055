// SPDX-License-Identifier: Apache-2.0

// Package conclusion says in one sentence where the time of threads is, and what they wait for.
//
// Algorithm: time on a CPU is that of the program's innermost own function; blocked time is divided into waits within
// work, by what is waited for, and idle waits, sleeps and waits for threads and for recorded or unknown children, which
// say nothing themselves.
// Of CPU time, time in the run queue and waits within work one makes the sentence, the first case that holds; the
// others are its end:
//
//	a signal or a debugger stops most                                                          stopped: …
//	a thread waits within a turn of an event loop for ≥ 50 %, ≥ CPU + queued                   event loop blocked …
//	queued ≥ CPU, ≥ the first wait, ≥ 10 % of the duration, ≥ 1/20 of these threads' sleeps    waiting for a CPU: …
//	waits > CPU + queued                                                                       mostly waiting: …
//	CPU                                                                                        busy: …
//	neither, or only for a small part                                                          mostly asleep: …
//
// Threads that queue are no program without a CPU if they wait for work for ≥ 3/4 of their time, and they queue for
// < 50 % of the duration, and run for < 30 %, and all waits within work, doubtful ones too, are ≤ CPU + queued: that is
// mostly asleep, and the line adds what they ran and queued.
//
// Of waits the first is that of the largest weight ([Summary.weight]). Guessed idle waits do not count while other
// threads run or queue for 10 % of the time.
//
// What is not certain is part of the sentence: CPU time without samples, incomplete stacks, few samples, guessed owners
// and guessed idle waits.
package conclusion
