// SPDX-License-Identifier: Apache-2.0

// Package checkpoint follows a prywalk record by the checkpoints that it writes on SIGUSR1, so that a test can wait for
// contents of a recording instead of a fixed time.
package checkpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Follower requests checkpoints of one recording.
type Follower struct {
	prywalk *os.Process
	file    string
	last    os.FileInfo
	begun   time.Time
	ask     time.Time // of the next request
}

// Follow follows the recording that a process writes to a file.
func Follow(prywalk *os.Process, file string) *Follower {
	return &Follower{prywalk: prywalk, file: file, begun: time.Now(), ask: time.Now()}
}

// New reports whether there is a checkpoint since the last call. Else it may request one: 200 ms or a tenth of the time
// so far after the last, as a checkpoint takes CPU time.
func (f *Follower) New() bool {
	if info, err := os.Stat(f.file); err == nil && (f.last == nil || !os.SameFile(f.last, info)) {
		f.last, f.ask = info, time.Now().Add(max(200*time.Millisecond, time.Since(f.begun)/10))
		return true
	}
	// The signal would end a process without a handler. SIGTSTP's is installed after the restart with more timer slack.
	if time.Now().After(f.ask) && catches(f.prywalk.Pid, syscall.SIGUSR1) && catches(f.prywalk.Pid, syscall.SIGTSTP) {
		_ = f.prywalk.Signal(syscall.SIGUSR1)
		f.ask = time.Now().Add(2 * time.Second)
	}
	return false
}

// catches reads SigCgt (proc(5)): Go's runtime installs handlers late.
func catches(pid int, s syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "SigCgt:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, _ := strconv.ParseUint(mask, 16, 64)
	return bits&(1<<(s-1)) != 0
}
