// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func TestTimeOfChildrenIsNotedIfItIsKnownAndMuch(t *testing.T) {
	const second = 1e9 / procmem.ClockTick
	of := func(ticks uint64, live map[int]uint64) *childrenCPU { return &childrenCPU{ticks, live, true} }
	before := of(2*second, map[int]uint64{7: 5, 8: 5})
	for _, c := range []struct {
		what          string
		before, after *childrenCPU
		want          string
	}{
		{"no time", before, before, "2 child processes, not in the recording; "},
		{"no time, and none lives", before, of(2*second, nil), ""},
		{"less than before", before, of(second, nil), ""},
		{"a little", before, of(2*second+second/10-1, nil), ""},
		{"unknown at the start", &childrenCPU{}, of(9*second, nil), ""},
		{"unknown at the end", before, &childrenCPU{ticks: 9 * second}, ""},
		{"of ended ones", before, of(2*second+second/10, map[int]uint64{7: 5}), "exited child processes used 0.1 s of CPU "},
		{"of one", before, of(5*second, map[int]uint64{7: 5, 8: 6}), "1 child process used 3.0 s of CPU "},
		{"of an old and a new one", before, of(5*second, map[int]uint64{7: 6, 8: 5, 9: 1}), "2 child processes used 3.0 s "},
	} {
		if got := c.after.since(c.before); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// The child has used CPU time in user space and in the kernel, and so has one of its own that has ended.
func TestTimeOfChildrenIsOfAllDescendants(t *testing.T) {
	const use = "while [ $i -lt 60000 ]; do : </dev/null; i=$((i+1)); done"
	parent := testtargets.Child(t, exec.Command("sh", "-c", "sh -c '(i=0; "+use+"); while :; do i=0; "+use+"; done'; :"))
	target := parent.Process.Pid
	var own, child procmem.Stat
	pid := 0
	testtargets.Eventually(t, "the child and one of its own have used CPU time", func() bool {
		for _, p := range process.Descendants(target) {
			if procmem.ReadStat(p, &child) == nil && child.PPID == target {
				pid = p
				return child.UTime > 0 && child.STime > 0 && child.ChildUTime > 0 && child.ChildSTime > 0
			}
		}
		return false
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "the child is stopped", func() bool {
		return procmem.ReadStat(pid, &child) == nil && child.State == 'T'
	})
	if err := procmem.ReadStat(target, &own); err != nil {
		t.Fatal(err)
	}
	c := readChildrenCPU([]int{target})
	want := own.ChildUTime + own.ChildSTime + child.UTime + child.STime + child.ChildUTime + child.ChildSTime
	if !c.known || c.ticks != want || len(c.live) != 1 || c.live[pid] != child.UTime+child.STime {
		t.Errorf("%+v, want %d ticks, and %d of process %d", c, want, child.UTime+child.STime, pid)
	}
	want -= child.UTime + child.STime
	if c = readChildrenCPU([]int{target, pid}); c.ticks != want || len(c.live) != 0 {
		t.Errorf("with the child as a target: %+v, want the time of its own child", c)
	}
	testtargets.Kill(parent)
	if c = readChildrenCPU([]int{target}); c.known {
		t.Errorf("of an ended target: %+v", c)
	}
}
