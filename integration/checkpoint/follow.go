// SPDX-License-Identifier: Apache-2.0

// Package checkpoint follows a prywalk record by the checkpoints that it writes when it gets SIGUSR1. So a test can
// wait for what a recording must hold, and not for some time: a busy machine gives a target, or prywalk, a
// processor when it pleases.
package checkpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Follower asks one recording for checkpoints, one after the other.
type Follower struct {
	prywalk *os.Process
	file    string
	last    os.FileInfo
	ask     time.Time // when to ask for the next
}

// Follow follows the recording that a process writes into a file.
func Follow(prywalk *os.Process, file string) *Follower {
	return &Follower{prywalk: prywalk, file: file, ask: time.Now()}
}

// New reports whether there is a checkpoint that the last call did not find. If there is none, it may ask for one:
// not at once behind the last, and again when an answer fails to come. Whether prywalk still runs is for the
// caller to find out.
func (f *Follower) New() bool {
	if info, err := os.Stat(f.file); err == nil && (f.last == nil || !os.SameFile(f.last, info)) {
		f.last, f.ask = info, time.Now().Add(200*time.Millisecond)
		return true
	}
	// One that is not listening yet would be ended by the request, or drop it.
	if time.Now().After(f.ask) && catches(f.prywalk.Pid, syscall.SIGUSR1) {
		_ = f.prywalk.Signal(syscall.SIGUSR1)
		f.ask = time.Now().Add(2 * time.Second)
	}
	return false
}

// catches reports whether a process has a handler for a signal (proc(5), SigCgt). Go's runtime installs one for
// each signal, but not before the program's first moments are over.
func catches(pid int, s syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "SigCgt:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, _ := strconv.ParseUint(mask, 16, 64)
	return bits&(1<<(s-1)) != 0
}
