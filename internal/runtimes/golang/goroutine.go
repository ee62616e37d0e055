// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// Goroutine is a g in a process's memory (runtime2.go).
type Goroutine struct {
	Addr             uint64
	ID               uint64
	Status           uint32 // without the scan bit
	StackLo, StackHi uint64
	SP, PC, BP, LR   uint64 // valid unless it runs
	WaitReason       uint8
	WaitSince        uint64 // ns, CLOCK_MONOTONIC: the garbage collection before the first that found it waiting; 0: none
	Start            uint64 // first function
	GoPC             uint64 // return address of the creating call
	Parent           uint64 // since Go 1.21; undefined before
	Labels           uint64 // address; 0: none
}

// Goroutine states (runtime2.go).
const (
	goroutineIdle      = 0
	goroutineRunnable  = 1
	goroutineRunning   = 2
	goroutineSyscall   = 3
	goroutineWaiting   = 4
	goroutineDead      = 6
	goroutineCopyStack = 8
	goroutinePreempted = 9
	goroutineLeaked    = 10 // Go 1.26
	goroutineDeadExtra = 11 // of a thread of C (Go 1.26)
	goroutineLast      = 15
	goroutineScanning  = 0x1000
)

// statusWords are the states' names in tracebacks (runtime/traceback.go, gStatusStrings).
var statusWords = map[uint32]string{goroutineRunnable: "runnable", goroutineRunning: "running",
	goroutineSyscall: "syscall", goroutineWaiting: "waiting", goroutineCopyStack: "copystack",
	goroutinePreempted: "preempted", goroutineLeaked: "leaked"}

func (g *Goroutine) ended() bool {
	return g.Status == goroutineIdle || g.Status == goroutineDead || g.Status == goroutineDeadExtra
}

func (g *Goroutine) onThread() bool {
	switch g.Status {
	case goroutineRunnable, goroutineWaiting, goroutinePreempted, goroutineLeaked:
		return g.SP < g.StackLo || g.SP > g.StackHi || g.PC == 0
	}
	return true
}

// inC reports whether g belongs to a thread of C that has left Go code (runtime/proc.go, oneNewExtraM).
func (g *Goroutine) inC() bool { return g.Start == 0 && g.Status == goroutineSyscall }

func (g *Goroutine) fill(t *managed.ParkedTask, arch frames.Arch) {
	t.ID, t.Since, t.CreatedBy, t.StackLo, t.StackHi = g.ID, g.WaitSince, g.GoPC, g.StackLo, g.StackHi
	if t.Status = statusWords[g.Status]; t.Status == "" {
		t.Status = "unknown"
	}
	t.State = [6]uint64{g.ID, uint64(g.Status), g.StackLo, g.StackHi, g.SP, g.PC}
	t.Regs = frames.Regs{Arch: arch, PC: g.PC}
	fp, link := uint8(6), uint8(frames.NumRegs) // DWARF: System V ABI for x86-64, AArch64
	if arch == frames.AArch64 {
		fp, link = 29, 30
	}
	t.Regs.Set(arch.SP(), g.SP)
	t.Regs.Set(fp, g.BP)
	if g.LR != 0 {
		t.Regs.Set(link, g.LR)
	}
	t.OnThread = g.onThread()
}
