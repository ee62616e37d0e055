// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

func execs(t *testing.T, args ...string) *running {
	t.Helper()
	exe, err := testtargets.Compile("execs.c", "-O1", "-g0")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	says := testtargets.Ready(t, cmd)
	return &running{pid: cmd.Process.Pid, lines: bufio.NewScanner(says)}
}

// used is the program's own count, s.
func recordExecs(t *testing.T, o target.SamplingOptions, target *running) (r *recorded, used float64) {
	t.Helper()
	before, err := procmem.ProcessCPU(target.pid)
	if err != nil {
		t.Fatal(err)
	}
	var after uint64
	r = record(t, o, 100*time.Millisecond, func(s *Sampler) {
		await(t, "it is observed", func() bool { return s.Progress().Stacks > 0 })
		target.signal(t, unix.SIGUSR1)
		target.expect(t, "done")
		after, err = procmem.ProcessCPU(target.pid)
		ticks := s.Progress().Tracer.Ticks
		await(t, "its end is observed", func() bool { return s.Progress().Tracer.Ticks > ticks+10 })
	}, target.pid)
	if err != nil {
		t.Fatal(err)
	}
	return r, seconds(time.Duration(after - before))
}

var execCases = []struct {
	name string
	args []string
}{
	{"by the first thread alone", []string{"first", "200", "0", "200", "1"}},
	{"by the first thread beside a second", []string{"first", "200", "400", "200", "1"}},
	{"by the second, and the first sleeps", []string{"other", "0", "300", "200", "1"}},
	{"by the second, which has used less", []string{"other", "400", "100", "200", "1"}},
	{"by the second, which has used more", []string{"other", "50", "300", "200", "1"}},
	{"by the second, again and again", []string{"other", "0", "50", "200", "5"}},
	{"by the second, several times in a tick", []string{"other", "0", "0", "200", "40"}},
	{"by the first, several times in a tick", []string{"first", "0", "100", "200", "40"}},
	{"by children of the second after vfork", []string{"vfork", "300", "100", "200", "10"}},
}

func TestTimeOfAProcessThatCallsExecIsCountedOnce(t *testing.T) {
	for _, engine := range []string{"ptrace", "perf"} {
		for _, c := range testtargets.EachNth(2, execCases) {
			t.Run(engine+"/"+c.name, func(t *testing.T) {
				o := target.SamplingOptions{Freq: 199}
				if engine == "perf" {
					o = sampling(t, 199)
				}
				r, used := recordExecs(t, o, execs(t, c.args...))
				if d := r.ProfiledCPU - used; d < -0.002 || d > 0.002 {
					t.Errorf("%.4f s in the profile, want the process's %.4f", r.ProfiledCPU, used)
				}
				if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
					t.Errorf("%.4f s of the target, %.4f in the profile", r.TargetCPU, r.ProfiledCPU)
				}
				limit := 0.25
				if c.args[4] == "40" { // what is not sampled of the start of each is known with the last one's first sample
					limit = used
				}
				there := r.sumOf(3, in("burn_there"))
				if seconds(there) < 0.1 || seconds(there) > limit {
					t.Errorf("%.4f s in the last program's function, of 0.2; %v", seconds(there), r.Failed)
					for _, s := range r.Sample {
						t.Log(s.Value, stack(s), s.Label, s.NumLabel)
					}
				}
			})
		}
	}
}
