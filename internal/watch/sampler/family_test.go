// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

func TestScriptOfShortCommandsIsAccounted(t *testing.T) {
	exe := testtargets.NeedProgram(t, "bash")
	const script = `echo ready; read go; for i in $(seq 150); do /bin/ls /usr/bin >/dev/null; done; ` +
		`(for i in $(seq 50); do /bin/ls /usr/bin >/dev/null; done); echo done; read end`
	want, r := recordScript(t, exe, script)
	t.Logf("the kernel says %.2f s; %.3f s are in the profile, %.3f s of them of short-lived children", want,
		r.ProfiledCPU, r.ShortLivedCPU)
	checkKernelsCPU(t, r, want)
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	row := r.sumOf(3, func(p *pprof.Sample) bool {
		return in(attribute.ShortLivedChildren)(p) && len(p.Location) == 1 && ofChildren(p) && label(p, "comm") == "bash" &&
			p.NumLabel["tid"] == nil
	})
	if float64(row)/1e9 < r.ShortLivedCPU-1e-6 {
		t.Errorf("the row has %d ns of %v s", row, r.ShortLivedCPU)
	}
	listing := r.sumOf(3, func(p *pprof.Sample) bool { return label(p, "thread") == attribute.ChildrenOf("ls") })
	t.Logf("%.3f s are of ls, %.3f s of a program without a stack", float64(listing)/1e9, r.ProgramCPU)
	if r.ProgramCPU > r.ShortLivedCPU+1e-6 {
		t.Errorf("%d ns of ls, %v s of a program without a stack, of %v s", listing, r.ProgramCPU, r.ShortLivedCPU)
	}
}

// checkKernelsCPU compares the CPU time with that of recordUntilDone. Clocks of /proc are in ticks and drop the rest,
// at the beginning and at the end: four clocks give want, and two, those of reaped children, are read for the profile.
func checkKernelsCPU(t *testing.T, r *recorded, want float64) {
	t.Helper()
	const most = (4 + 2) * procmem.ClockTick / 1e9
	if d := r.ProfiledCPU - want; d <= -most || d >= most {
		t.Errorf("%.3f s are in the profile, and %.2f s by the kernel, whose clocks are off by less than %v s",
			r.ProfiledCPU, want, most)
	}
}

func ofChildren(p *pprof.Sample) bool {
	name := label(p, "thread")
	return name == attribute.ChildrenThread || strings.HasPrefix(name, "[children: ")
}

func TestChildrenOfAParentThatIgnoresSIGCHLD(t *testing.T) {
	exe := testtargets.NeedProgram(t, "perl")
	const script = `$| = 1; print "ready\n"; <STDIN>; $SIG{CHLD} = "IGNORE";
		for (1..10) { if (!fork) { my $t = times; 1 while times() - $t < 0.05; exit } select(undef, undef, undef, 0.12) }
		$SIG{CHLD} = "DEFAULT"; system("/bin/ls /usr/bin >/dev/null") for 1..100; print "done\n"; <STDIN>;`
	cmd := exec.Command(exe, "-e", script)
	want, r := recordUntilDone(t, cmd)
	burnt := r.sumOf(3, func(p *pprof.Sample) bool { return !in(attribute.ShortLivedChildren)(p) })
	t.Logf("the kernel says %.2f s; %.3f s are in the profile, %.3f s of them of short-lived children", want,
		r.ProfiledCPU, r.ShortLivedCPU)
	if r.ProfiledCPU < want-0.04 || float64(burnt)/1e9 < 0.3 {
		t.Errorf("%.3f s of more than %.2f s are in the profile, %d ns of them of observed ones", r.ProfiledCPU, want, burnt)
	}
	if r.ShortLivedCPU > want {
		t.Errorf("%.3f s are of short-lived children, of %.2f s that the parent has got", r.ShortLivedCPU, want)
	}
}

func recordScript(t *testing.T, exe, script string) (want float64, r *recorded) {
	return recordUntilDone(t, exec.Command(exe, "-c", script))
}

// want is the kernel's CPU time of the program and its children, s.
func recordUntilDone(t *testing.T, cmd *exec.Cmd) (want float64, r *recorded) {
	return recordUntilDoneWith(t, cmd, target.SamplingOptions{Freq: 99, Children: true})
}

func recordUntilDoneWith(t *testing.T, cmd *exec.Cmd, o target.SamplingOptions) (want float64, r *recorded) {
	return recordUntilDoneOf(t, cmd, o, func() int { return cmd.Process.Pid })
}

func recordUntilDoneOf(t *testing.T, cmd *exec.Cmd, o target.SamplingOptions, of func() int) (want float64,
	r *recorded) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says := testtargets.Ready(t, cmd)
	s := &running{pid: of(), lines: bufio.NewScanner(says)}
	var before, after procmem.Stat
	if err := procmem.ReadStat(s.pid, &before); err != nil {
		t.Fatal(err)
	}
	r = record(t, o, 0, func(p *Sampler) {
		await(t, "earlier time does not count", func() bool { return p.Progress().Stacks > 0 })
		ticks := p.Progress().Tracer.Ticks
		await(t, "ten more ticks", func() bool { return p.Progress().Tracer.Ticks >= ticks+10 })
		_, _ = io.WriteString(stdin, "go\n")
		s.expect(t, "done")
		testtargets.Eventually(t, "the program waits for its end", func() bool { return state(s.pid) == "S" })
		if err := procmem.ReadStat(s.pid, &after); err != nil {
			t.Error(err)
		}
	}, s.pid)
	s.signal(t, unix.SIGKILL)
	used := func(s *procmem.Stat) float64 {
		return float64(s.UTime+s.STime+s.ChildUTime+s.ChildSTime) * procmem.ClockTick / 1e9
	}
	return used(&after) - used(&before), r
}
