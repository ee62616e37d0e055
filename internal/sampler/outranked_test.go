// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

// On the thread's own CPU the tracer would find it asleep only. The thread computes for a quarter of the time.
func TestAThreadThatOutranksTheTracerIsFoundRunning(t *testing.T) {
	var cpus, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil || cpus.Count() < 2 {
		t.Skipf("%d CPUs (%v): the tracer needs another one", cpus.Count(), err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if cpus.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	exe, err := testtargets.Compile("bursts.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "3000", "9000")
	_, says := testtargets.Talk(t, cmd)
	target := &running{pid: cmd.Process.Pid, lines: bufio.NewScanner(says)}
	target.expect(t, "ready")
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}
	if err := unix.SchedSetAttr(target.pid, &fifo, 0); err != nil {
		t.Skipf("no real-time priority for the target: %v", err)
	}
	if err := unix.SchedSetaffinity(target.pid, &one); err != nil {
		t.Fatal(err)
	}
	r := record(t, Options{}, 3*time.Second, nil, target.pid)
	burning, all := r.sumOf(3, in("burn")), r.sumOf(3, in("main"))
	if burning < all/2 || all < 3e8 {
		t.Errorf("%v of %v of CPU time in burn, want half or more, of 300ms or more",
			time.Duration(burning), time.Duration(all))
	}
}
