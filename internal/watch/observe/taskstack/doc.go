// SPDX-License-Identifier: Apache-2.0

// Package taskstack copies the stack of the task (in Go: the goroutine) that a thread runs, if the thread is on another
// stack: the scheduler's, or that of a signal handler. It allocates nothing in the steady state.
//
// # Algorithm
//
// [managed.TaskOffsets] has the offsets. In a Go program on x86-64, a thread in the scheduler (runtime.park_m) is read
// so:
//
//	fs:-8          g = g0 of the thread     the running task; its bounds 0x7ffc…0000 to 0x7ffc…8000 have sp
//	g0 + m         m                        the worker
//	m + curg       curg 0xc000002380        the worker's task: not g0, so the thread has left its stack
//	curg           sched.sp 0xc00005be30    where that stack was left; stack.hi 0xc00005c000
//	copy           0x1d0 bytes from 0xc00005be30
//
// On the goroutine's own stack only g, m and what lies beyond the copy of the stack are read.
//
// The labels of a task (pprof.Do) are copied too (labels.go).
//
// # Sources
//
// runtime/runtime2.go (g, m, gobuf); runtime/proc.go; runtime/pprof/label.go.
package taskstack
