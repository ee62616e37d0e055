// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"os/exec"
	"testing"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

// On the thread's own CPU the tracer would find it asleep only. The thread computes for a quarter of the time.
func TestAThreadThatOutranksTheTracerIsFoundRunning(t *testing.T) {
	var cpus, one unix.CPUSet
	err := unix.SchedGetaffinity(0, &cpus)
	testtargets.Need(t, err == nil && cpus.Count() >= 2, "two CPUs", "a machine with more")
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
	program := &running{pid: cmd.Process.Pid, lines: bufio.NewScanner(says)}
	program.expect(t, "ready")
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}
	if err := unix.SchedSetAttr(program.pid, &fifo, 0); err != nil {
		testtargets.NeedRoot(t, "give the target a real-time priority")
		testtargets.Need(t, false, "real-time priorities", "a control group with real-time bandwidth (cgroups(7))")
	}
	if err := unix.SchedSetaffinity(program.pid, &one); err != nil {
		t.Fatal(err)
	}
	recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
		running := r.count(func(s *pprof.Sample) bool { return in("burn")(s) && label(s, "state") == "running" })
		return running >= 20
	}, program.pid)
}
