// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProcessThatCannotBeReadForLackOfDescriptorsIsAlive(t *testing.T) {
	s, err := ReadStatus("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{PID: os.Getpid(), StartTime: s.Start, pidfd: -1}
	var was unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}, nil); err != nil {
		t.Fatal(err)
	}
	alive := p.Alive()
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		t.Fatal(err)
	}
	if !alive || !p.Alive() {
		t.Errorf("alive without descriptors: %v, with: %v; want both true", alive, p.Alive())
	}
	if p.StartTime++; p.Alive() {
		t.Error("another process with this number is taken for it")
	}
}
