// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

const hugePages = 64

func haveHugePages(t *testing.T) {
	t.Helper()
	const file = "/proc/sys/vm/nr_hugepages"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Log(err)
		testtargets.Need(t, false, "huge pages", "a kernel with them")
	}
	was := strings.TrimSpace(string(text))
	n, _ := strconv.Atoi(was)
	if err := os.WriteFile(file, []byte(strconv.Itoa(n+hugePages)), 0); err != nil {
		t.Log(err)
		testtargets.Need(t, false, "huge pages", "a container that may reserve them")
	}
	t.Cleanup(func() { _ = os.WriteFile(file, []byte(was), 0) })
}

func startGivesUp(t *testing.T, call string) *target {
	t.Helper()
	testtargets.NeedRoot(t, "mount, and to make virtual machines")
	if call == "hugetlb" {
		haveHugePages(t)
	}
	dir, err := os.MkdirTemp(work, "gives-up-")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "gives_up", call, dir)
	for _, line := range p.lines {
		if e, ok := strings.CutPrefix(line, "impossible "); ok {
			testtargets.Need(t, false, call+", not error "+e, "a kernel and container that allow it")
		}
	}
	return p
}

func cpuUnder(p *pprof.Profile, function string) time.Duration {
	var sum int64
	for _, s := range p.Sample {
		if inStack(s, function) {
			sum += s.Value[len(s.Value)-1]
		}
	}
	return time.Duration(sum)
}

func inStack(s *pprof.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && line.Function.Name == function {
				return true
			}
		}
	}
	return false
}

// bpf(2) loading a program, whose check takes much longer than a tick; reserving huge pages; running a virtual
// machine; requests to a FUSE server that fails them when interrupted.
func TestCallsThatGiveUpSucceedUnderDefaultSampling(t *testing.T) {
	type call struct {
		call  string
		calls int64
	}
	for _, c := range testtargets.EachNth(2, []call{{"bpf", 3}, {"hugetlb", 100}, {"kvm", 40}, {"fuse-stat", 3000}}) {
		for _, rate := range testtargets.First([]string{"1000", "99"}) {
			t.Run(c.call+"/"+rate, func(t *testing.T) {
				p := startGivesUp(t, c.call)
				r := record(t, p.pid, "-F", rate)
				r.awaitSamples(p.pid)
				p.awaitProgress(c.calls)
				s := r.stop()
				saw := p.finish()
				t.Logf("the target's counts: %v; %+v", saw, s)
				if saw["eintr"]+saw["eagain"]+saw["short"]+saw["other"] != 0 || s.Broken != 0 {
					t.Errorf("the target's counts are %v, %d calls were counted as broken, want no failed call", saw,
						s.Broken)
				}
				if s.Restarted == 0 && c.call != "fuse-stat" {
					t.Errorf("no call was restarted, so that nothing was tested: %+v", s)
				}
				if s.failures() != s.Failed["timeout"]+s.Failed["in-call"]+s.Failed["map-lock"] {
					t.Errorf("failures for other reasons than timeout, in-call and map-lock: %v", s.Failed)
				}
				if c.call != "bpf" {
					return
				}
				prof := r.profile()
				load, compute := cpuUnder(prof, "load"), cpuUnder(prof, "compute")
				if compute == 0 || load < compute {
					t.Errorf("CPU time: %v in calls, %v between them, want both, and more in calls", load, compute)
				}
			})
		}
	}
}

// maxBroken is the number of calls that observations can break. After each the thread is not observed for a while:
// 0.1 s first, then twice as long each time.
func maxBroken(seconds float64) int64 { return int64(bits.Len64(uint64(seconds*10)+1)) + 1 }

// mkdir on a FUSE file system whose server gives up when interrupted, and mkdirat made by a seccomp supervisor that
// sees a call again after a stop.
func TestBrokenCallsThatCannotBeRepairedAreRareAndCounted(t *testing.T) {
	for _, call := range []string{"fuse-mkdir", "notify"} {
		for _, rung := range testtargets.First(rungs) {
			t.Run(call+"/"+rung, func(t *testing.T) {
				p := startGivesUp(t, call)
				r := record(t, p.pid, "--rung", rung)
				r.awaitSamples(p.pid)
				p.awaitProgress(5000)
				s := r.stop()
				saw := p.finish()
				t.Logf("the target's counts: %v; %+v", saw, s)
				if saw["eintr"] > s.Broken || saw["twice"] > s.ReportedTwice || saw["eagain"]+saw["short"] != 0 ||
					saw["other"] > s.ReportedTwice {
					t.Errorf("the target's counts are %v; counted were %d broken calls and %d seen twice, want no "+
						"fewer", saw, s.Broken, s.ReportedTwice)
				}
				bad := s.Broken + s.ReportedTwice
				if rung == "auto" && bad > maxBroken(s.Seconds) {
					t.Errorf("%d calls broken or seen twice in %.1f s, want at most %d", bad, s.Seconds,
						maxBroken(s.Seconds))
				}
				if rung == "stop" && bad == 0 {
					t.Error("no call was broken or seen twice, so that nothing was tested")
				}
				for text, n := range map[string]int64{
					"interrupted by a stop (mkdir": s.Broken, "repeated (mkdirat": s.ReportedTwice,
				} {
					want := n > 0
					if got := strings.Contains(r.stderr.String(), text); got != want {
						t.Errorf("%q in the closing line: %v, though the count is %d: %s", text, got, n,
							r.stderr.String())
					}
				}
			})
		}
	}
}

func TestReadOnlySamplingLetsRetriedCallsSucceed(t *testing.T) {
	for range 10 { // until a stop broke a call
		if p := startGivesUp(t, "bpf"); brokeReadOnly(t, p) {
			return
		}
	}
	t.Error("no call was broken, so that nothing was tested")
}

func brokeReadOnly(t *testing.T, p *target) bool {
	t.Helper()
	r := record(t, p.pid, "-F", "99", "--read-only")
	r.awaitSamples(p.pid)
	p.awaitProgress(3)
	s := r.stop()
	saw := p.finish()
	t.Logf("the target's counts: %v; %+v", saw, s)
	if saw["other"] != 0 || saw["eagain"] > s.Broken || s.Broken > saw["calls"]+1+maxBroken(s.Seconds) {
		t.Errorf("the target's counts are %v, %d broken calls were counted", saw, s.Broken)
	}
	if want := fmt.Sprintf("%d system call", s.Broken); s.Broken > 0 && !strings.Contains(r.stderr.String(), want) {
		t.Errorf("no %q in the closing line: %s", want, r.stderr.String())
	}
	return saw["eagain"] > 0
}

func TestNoMountOfTheTestsIsLeft(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), filepath.Join(work, "gives-up-")) {
		t.Errorf("a test left a mount: %s", mounts)
	}
}
