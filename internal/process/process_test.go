// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"

	"prywalk/internal/testtargets"
)

func TestProcessThatCannotBeReadForLackOfDescriptorsIsAlive(t *testing.T) {
	s, err := ReadStatus("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{PID: os.Getpid(), StartTime: s.Start, pidfd: -1}
	alive := false
	testtargets.WithoutDescriptors(t, func() { alive = p.Alive() })
	if !alive || !p.Alive() {
		t.Errorf("alive without descriptors: %v, with: %v; want both true", alive, p.Alive())
	}
	if p.StartTime++; p.Alive() {
		t.Error("another process with this number is taken for it")
	}
}
