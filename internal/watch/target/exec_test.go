// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// A listing is empty while the caller of exec takes the first thread's number. It has the new program's threads before
// its address space can be opened.
func TestAListingDuringAnExecIsNotApplied(t *testing.T) {
	pid, _ := testtargets.Threads(t, "main")
	opened, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	p := NewProcess(opened, false, 0)
	defer p.CloseTaskDir()
	p.Threads = NewThreadList(true, "")
	p.Threads.Add(&Thread{TID: pid})
	p.Threads.Add(&Thread{TID: pid + 1})
	now := ptrace.Now()
	if !p.MayBeInExec(nil, now) {
		t.Error("a listing without threads of a live process is applied")
	}
	if p.MayBeInExec([]int{pid, pid + 1}, now) {
		t.Error("a listing of the tracked program is not applied")
	}
	p.exec.addressSpace++
	for after, want := range map[time.Duration]bool{0: true, longestChange / 2: true, longestChange: false} {
		p.exec.changingSince = now
		if got := p.MayBeInExec([]int{pid, pid + 1}, now.Add(after)); got != want {
			t.Errorf("%d ns after the first listing of another program: not applied: %v, want %v", after, got, want)
		}
	}
}
